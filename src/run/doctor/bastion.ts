import type { Cluster } from '../../cluster/load.js';
import { parseDuration } from '../../core/duration.js';
import { messageOf } from '../../core/errors.js';
import { judgeLives, type CertificateLife } from '../../doctor/certificates.js';
import type { Checklist } from '../../doctor/checklist.js';
import { failed, ok } from '../../doctor/check.js';
import { judgeIdentities } from '../../doctor/identities.js';
import { certificatesIn, checkPair, lifeOf } from './certificates.js';
import type { DoctorDoors } from './doors.js';

const limitsOf = ({ thresholds }: Cluster, now: Date) => ({
  now,
  renewBeforeMs: parseDuration(thresholds.renewBefore),
});

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' ? value : Buffer.isBuffer(value) ? value.toString() : undefined;

const kubeconfigChecks = async (list: Checklist, doors: DoctorDoors, now: Date): Promise<void> => {
  const { api } = doors.cluster;
  let certificate: string | undefined;
  let authorities: string | undefined;
  await list.check('kubeconfig', [], async () => {
    const credentials = await doors.credentials();
    try {
      const { cert, ca } = await credentials();
      certificate = textOf(cert);
      authorities = textOf(ca);
    } catch (thrown) {
      return failed(
        `cannot use the credentials of ${api.kubeconfig}: ${messageOf(thrown)}`,
        'kubectl must get in with it: see api.kubeconfig and api.context in the cluster file.',
      );
    }
    return ok(api.kubeconfig);
  });
  if (certificate === undefined && authorities === undefined) return;
  await list.check('kubeconfig-certificate', ['kubeconfig'], () => {
    const [own] = certificate === undefined ? [] : certificatesIn(certificate, 'client certificate');
    const lives: CertificateLife[] = [
      ...(own ? [lifeOf(own, `client certificate of ${api.kubeconfig}`)] : []),
      ...(authorities === undefined
        ? []
        : certificatesIn(authorities, 'certificate authority').map((each) =>
            lifeOf(each, `certificate authority in ${api.kubeconfig}`),
          )),
    ];
    return judgeLives(
      lives,
      limitsOf(doors.cluster, now),
      'Have the CA of the cluster issue a new one (kubeadm: kubeadm certs renew admin.conf on a control plane), and put it into the kubeconfig of this machine.',
    );
  });
};

const etcdChecks = async (list: Checklist, doors: DoctorDoors, now: Date): Promise<void> => {
  const { ca, cert, key } = doors.cluster.etcd;
  if (ca === undefined && cert === undefined) return;
  await list.check('etcd-certificate', [], async () => {
    const lives: CertificateLife[] = [];
    if (ca !== undefined)
      for (const each of certificatesIn(await doors.read(ca), `etcd CA ${ca}`))
        lives.push(lifeOf(each, `etcd CA in ${ca}`));
    if (cert !== undefined) {
      const [own] = certificatesIn(await doors.read(cert), `etcd client certificate ${cert}`);
      if (own) {
        if (key !== undefined) checkPair(own, await doors.read(key), `etcd client certificate ${cert}`);
        lives.push(lifeOf(own, `etcd client certificate ${cert}`));
      }
    }
    return judgeLives(
      lives,
      limitsOf(doors.cluster, now),
      'Have the CA of etcd issue a new one, and put it where etcd.ca, etcd.cert and etcd.key of the cluster file say.',
    );
  });
};

const issuerChecks = async (list: Checklist, doors: DoctorDoors, now: Date): Promise<void> => {
  const { issuer } = doors.cluster;
  if (issuer.type === 'cfssl' && issuer.cert !== undefined) {
    const { cert, key } = issuer;
    await list.check('issuer-certificate', [], async () => {
      const [own] = certificatesIn(await doors.read(cert), `client certificate ${cert}`);
      if (own && key !== undefined) checkPair(own, await doors.read(key), `client certificate ${cert}`);
      return judgeLives(
        own ? [lifeOf(own, `client certificate ${cert} for the PKI`)] : [],
        limitsOf(doors.cluster, now),
        'Have the PKI issue a new one, and put it where issuer.cert and issuer.key of the cluster file say.',
      );
    });
  }
  await list.check('issuer', ['issuer-certificate'], async () => {
    const found = await doors.issuer();
    if (!found) return ok('none: new keys get no certificate and no expiry');
    const { caNotAfter } = await found.check(now);
    return judgeLives(
      [{ what: `CA of ${found.description}`, notBefore: new Date(0), notAfter: caNotAfter }],
      limitsOf(doors.cluster, now),
      'Renew or replace the CA: what it signs cannot outlive it.',
    );
  });
};

/** What is on this machine: keys, credentials, certificates, the way to the PKI. */
export const checkBastion = async (list: Checklist, doors: DoctorDoors, now: Date): Promise<void> => {
  const { controlPlanes, nodes } = doors.cluster.hosts;
  await list.check('cluster-file', [], () =>
    ok(
      `${controlPlanes.length} control plane${controlPlanes.length === 1 ? '' : 's'}, ${nodes.length} other node${nodes.length === 1 ? '' : 's'}`,
    ),
  );
  await list.check('ssh-identity', [], async () => {
    const [first = ''] = controlPlanes;
    return judgeIdentities(await doors.identities(await doors.route(first)));
  });
  await kubeconfigChecks(list, doors, now);
  await etcdChecks(list, doors, now);
  await issuerChecks(list, doors, now);
};
