import { describe, expect, it } from 'vitest';
import { parseApiserverFlags, parseControllerManagerFlags, readFlags } from '../../../src/kube/flags.js';

describe('the flags of a running kube-apiserver', () => {
  it('are read in both ways of writing, repeated and with commas', () => {
    const flags = parseApiserverFlags([
      'kube-apiserver',
      '--service-account-key-file=/a.pem',
      '--service-account-key-file',
      '/b.pem',
      '--service-account-signing-key-file=/old.key',
      '--service-account-signing-key-file=/s.key',
      '--service-account-issuer=https://one,https://two',
      '--allow-privileged',
      '--etcd-cafile=/etcd.crt',
      '--client-ca-file=/ca.crt',
    ]);
    expect(flags).toMatchObject({
      keyFiles: ['/a.pem', '/b.pem'],
      signingKeyFile: '/s.key',
      issuers: ['https://one', 'https://two'],
      certificateFiles: ['/ca.crt', '/etcd.crt'],
    });
  });

  it('without a key file verify with the TLS key, as Kubernetes does', () => {
    expect(parseApiserverFlags(['--tls-private-key-file=/tls.key']).keyFiles).toEqual(['/tls.key']);
  });

  it('with an external signer name no key files', () => {
    expect(
      parseApiserverFlags(['--service-account-signing-endpoint=/s.sock', '--tls-private-key-file=/tls.key']),
    ).toMatchObject({
      keyFiles: [],
      signingEndpoint: '/s.sock',
      signingKeyFile: undefined,
    });
  });

  it('may hold an equals sign in a value, or be empty', () => {
    expect(readFlags(['--a=b=c', '--empty=', '--', '--x']).get('a')).toEqual(['b=c']);
    expect(parseApiserverFlags(['--service-account-signing-key-file=']).signingKeyFile).toBeUndefined();
  });
});

describe('the flags of a running kube-controller-manager', () => {
  it('name the key it signs with and its certificates', () => {
    expect(
      parseControllerManagerFlags(['--service-account-private-key-file=/sa.key', '--root-ca-file=/ca.crt']),
    ).toEqual({
      privateKeyFile: '/sa.key',
      certificateFiles: ['/ca.crt'],
    });
  });
});
