import { describe, expect, it } from 'vitest';
import { parseApiserverFlags, parseControllerManagerFlags, readFlags } from '../../../src/kube/flags.js';

describe('the flags of a running kube-apiserver', () => {
  it('are read in both ways of writing, and repeated', () => {
    const flags = parseApiserverFlags([
      'kube-apiserver',
      '--service-account-key-file=/a.pem',
      '--service-account-key-file',
      '/b.pem',
      '--service-account-signing-key-file=/old.key',
      '--service-account-signing-key-file=/s.key',
      '--service-account-issuer=https://one',
      '--service-account-issuer=https://two',
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

  it('keep a comma in a path or an issuer, where Kubernetes takes it for a part of it', () => {
    expect(
      parseApiserverFlags([
        '--service-account-key-file=/a,b.pem',
        '--service-account-issuer=https://one/,two',
      ]),
    ).toMatchObject({ keyFiles: ['/a,b.pem'], issuers: ['https://one/,two'] });
  });

  it('may be written with underscores', () => {
    expect(parseApiserverFlags(['--service_account_signing_key_file=/a_b.key']).signingKeyFile).toBe(
      '/a_b.key',
    );
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

  it('may hold an equals sign in a value, or be empty, and end at a lone --', () => {
    expect(Object.fromEntries(readFlags(['--a=b=c', '--empty=', '--', '--x']))).toEqual({
      a: ['b=c'],
      empty: [''],
    });
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
