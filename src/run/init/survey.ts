import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import pLimit from 'p-limit';
import type { ClusterFile } from '../../cluster/schema.js';
import { CertrollError, messageOf } from '../../core/errors.js';
import { namesOf, peerCertificate } from '../../core/peer-certificate.js';
import { createHost } from '../../hosts/connect.js';
import type { Host } from '../../hosts/host.js';
import { resolveTarget, type SshTarget } from '../../hosts/ssh-config.js';
import { commonNames, etcdEndpoints, portOf } from '../../init/choose.js';
import { controlPlanesOf, type SeenApi, type SeenHost, type Survey } from '../../init/seen.js';
import { parseStartFiles } from '../../kube/flags.js';
import { findEtcdFiles } from './etcd-files.js';
import { surveyApi, surveyApiFromHost, type UsableKubeconfig } from './survey-api.js';
import { surveyHost, type HostSurvey, type PidFile } from './survey-host.js';

const HOSTS_AT_ONCE = 8;
const TIMEOUT_MS = 5000;
/** Far more than a cluster has control planes; a list that leads astray must come to an end. */
const MOST_HOSTS = 64;

export interface SurveyOptions {
  /** The folder of the cluster file. */
  readonly baseDir: string;
  readonly ssh: ClusterFile['ssh'];
  /** Hosts to begin with. */
  readonly hosts: readonly Candidate[];
  readonly kubeconfig: UsableKubeconfig | undefined;
  /** How the kubeconfig is written in the cluster file, and why it was taken. */
  readonly kubeconfigAs: { readonly value: string; readonly where: string } | undefined;
  /** What the existing cluster file finds by a pid file there. */
  readonly pidFiles: (host: string) => readonly PidFile[];
  readonly progress: (text: string, host?: string) => void;
}

export interface Candidate {
  readonly name: string;
  readonly where: string;
  /** Chosen by the user: its name stays. */
  readonly isGiven?: boolean;
  readonly aliases?: readonly string[];
}

interface Place {
  readonly target: SshTarget;
  readonly address: string;
  /** Two names of one place are one host. */
  readonly key: string;
}

type Looked =
  | {
      readonly candidate: Candidate;
      readonly place: Place;
      readonly seen: HostSurvey;
      readonly api: SeenApi | undefined;
    }
  | { readonly candidate: Candidate; readonly why: string };

/** Whether that is only another name of a host that was looked at; a short name is one of the full name. */
const isCalled = (hosts: readonly SeenHost[], name: string): boolean =>
  hosts.some((host) =>
    [host.name, host.address, ...host.aliases].some(
      (each) => each === name || (isIP(each) === 0 && each.split('.')[0] === name),
    ),
  );

/** All that is seen of a cluster, from one host or one kubeconfig on. */
class Surveyor {
  readonly #options: SurveyOptions;
  readonly #settings: { readonly ssh: ClusterFile['ssh']; readonly baseDir: string };
  readonly #limit = pLimit(HOSTS_AT_ONCE);
  readonly #places = new Map<string, SeenHost>();
  readonly #tried = new Set<string>();
  readonly #unreached: { name: string; where: string; why: string }[] = [];
  readonly #notes: string[] = [];
  #api: SeenApi | undefined;

  constructor(options: SurveyOptions) {
    this.#options = options;
    this.#settings = { ssh: options.ssh, baseDir: options.baseDir };
  }

  async survey(): Promise<Survey> {
    const { kubeconfig, kubeconfigAs, progress, baseDir } = this.#options;
    const candidates = [...this.#options.hosts];
    if (kubeconfig) {
      progress(`asking ${kubeconfig.target.url} for its control planes`);
      this.#learn(await surveyApi(kubeconfig));
      candidates.push(...this.#named());
    }
    await this.#lookAtAll(candidates);
    await this.#askAnother();
    const hosts = [...this.#places.values()].sort((one, other) =>
      one.name.localeCompare(other.name, 'en', { numeric: true }),
    );
    const { urls } = etcdEndpoints(controlPlanesOf({ hosts }));
    const etcd = await findEtcdFiles(baseDir, urls, progress);
    return {
      hosts,
      unreached: this.#unreached.filter(({ name }) => !isCalled(hosts, name)),
      api: this.#api,
      kubeconfig: kubeconfigAs,
      kubeconfigCluster: kubeconfig?.clusterName,
      etcdFiles: etcd.files,
      notes: [
        ...this.#notes,
        ...(etcd.note === undefined ? [] : [etcd.note]),
        ...(this.#api?.unread ?? []).map((text) => `the API did not tell ${text}`),
      ],
    };
  }

  /** The first answer that says anything counts. */
  #learn(api: SeenApi): void {
    if (this.#api === undefined || this.#api.version === undefined) this.#api = api;
  }

  /** Hosts that the API names. */
  #named(): readonly Candidate[] {
    const api = this.#api;
    if (!api) return [];
    const nodes = api.controlPlanes.map(({ name, addresses }) => ({
      name,
      aliases: addresses,
      where: `node with the label of a control plane, ${api.how}`,
    }));
    return [
      ...nodes,
      ...api.leaseHosts.map((name) => ({
        name,
        where: `keeps a lease of an apiserver in kube-system, ${api.how}`,
      })),
      ...api.endpoints.map((name) => ({ name, where: `an endpoint of the service kubernetes, ${api.how}` })),
    ];
  }

  /** One round after the other: what a host tells may name further ones. */
  async #lookAtAll(first: readonly Candidate[]): Promise<void> {
    let next = first;
    while (next.length > 0 && this.#tried.size < MOST_HOSTS) {
      const fresh = next.filter(({ name }) => !this.#tried.has(name));
      for (const { name } of fresh) this.#tried.add(name);
      const places = await this.#placesOf(fresh);
      const looked = await Promise.all(
        places.map(async ([candidate, place]) => this.#limit(async () => this.#look(candidate, place))),
      );
      const further: Candidate[] = [];
      for (const each of looked) further.push(...(await this.#take(each)));
      next = further;
    }
  }

  /** Where names lead, each place once; a name that leads to a known place is one more name of its host. */
  async #placesOf(candidates: readonly Candidate[]): Promise<readonly (readonly [Candidate, Place])[]> {
    const found = new Map<string, readonly [Candidate, Place]>();
    for (const candidate of candidates) {
      const place = await this.#placeOf(candidate.name).catch((thrown: unknown) => messageOf(thrown));
      if (typeof place === 'string') {
        // A node by another of its addresses.
        const [alias] = candidate.aliases ?? [];
        const other = alias === undefined ? undefined : await this.#placeOf(alias).catch(() => undefined);
        if (other) {
          if (!this.#isKnown(other, candidate.name) && !found.has(other.key))
            found.set(other.key, [
              { ...candidate, name: alias ?? candidate.name, aliases: [candidate.name] },
              other,
            ]);
        } else this.#unreached.push({ name: candidate.name, where: candidate.where, why: place });
        continue;
      }
      if (this.#isKnown(place, candidate.name)) continue;
      const before = found.get(place.key);
      if (!before) found.set(place.key, [candidate, place]);
      else {
        const aliases = [...(before[0].aliases ?? []), candidate.name];
        found.set(place.key, [{ ...before[0], aliases }, place]);
      }
    }
    return [...found.values()];
  }

  #isKnown({ key }: Place, name: string): boolean {
    const host = this.#places.get(key);
    if (host) this.#places.set(key, { ...host, aliases: [...new Set([...host.aliases, name])] });
    return host !== undefined;
  }

  async #placeOf(name: string): Promise<Place> {
    const target = await resolveTarget(name, this.#settings);
    const isDirect = target.jumps.length === 0 && target.proxyCommand === undefined;
    const address =
      isDirect && isIP(target.hostname) === 0 ? (await lookup(target.hostname)).address : target.hostname;
    return { target, address, key: `${address}:${target.port}` };
  }

  async #look(candidate: Candidate, place: Place): Promise<Looked> {
    const { name } = candidate;
    this.#options.progress('looking for its kube-apiserver, its flags and its keys', name);
    let host: Host | undefined;
    try {
      host = await createHost(name, this.#settings);
      const seen = await surveyHost(host, this.#options.pidFiles(name));
      const isNeeded = this.#api?.version === undefined && seen.hasAdminConf && seen.apiserver !== undefined;
      const api = isNeeded ? await surveyApiFromHost(host) : undefined;
      return { candidate, place, seen, api };
    } catch (thrown) {
      if (!(thrown instanceof CertrollError)) throw thrown;
      const { message, hint } = thrown;
      return { candidate, why: hint === undefined ? message : `${message}. ${hint}` };
    } finally {
      await host?.close();
    }
  }

  /** Keeps what was seen; gives the hosts that it names. */
  async #take(looked: Looked): Promise<readonly Candidate[]> {
    const { candidate } = looked;
    if ('why' in looked) {
      this.#unreached.push({ name: candidate.name, where: candidate.where, why: looked.why });
      return [];
    }
    const { place, api, seen } = looked;
    const { fullName, hasAdminConf: _hasAdminConf, ...rest } = seen;
    const name = await this.#bestName(candidate, place, fullName);
    const aliases = [
      candidate.name,
      ...(candidate.aliases ?? []),
      ...(fullName === undefined ? [] : [fullName]),
    ];
    const host: SeenHost = {
      ...rest,
      name,
      aliases: [...new Set(aliases)].filter((each) => each !== name),
      where: candidate.where,
      address: place.address,
      servedNames: undefined,
    };
    const servedNames = host.apiserver && (await this.#served(place.target.hostname, portOf(host)));
    this.#places.set(place.key, { ...host, servedNames });
    if (api) this.#learn(api);
    const members = parseStartFiles(host.apiserver?.argv ?? []).etcdServers.flatMap((url) =>
      URL.canParse(url) ? [new URL(url).hostname.replace(/^\[|\]$/g, '')] : [],
    );
    return [
      ...(api ? this.#named() : []),
      ...members
        .filter((each) => !/^(localhost|127\.|::1$)/.test(each))
        .map((each) => ({ name: each, where: `named by --etcd-servers on ${name}` })),
    ];
  }

  /** A host's own full name, where it leads to that very place: better to read than an address or a short name. */
  async #bestName(
    { name, isGiven }: Candidate,
    { key }: Place,
    fullName: string | undefined,
  ): Promise<string> {
    if (isGiven === true || fullName === undefined || (isIP(name) === 0 && name.includes('.'))) return name;
    if (!/^[A-Za-z0-9][A-Za-z0-9.-]*\.[A-Za-z0-9-]+$/.test(fullName)) return name;
    const place = await this.#placeOf(fullName).catch(() => undefined);
    return place?.key === key ? fullName : name;
  }

  async #served(hostname: string, port: number): Promise<readonly string[] | undefined> {
    const url = new URL(`https://${hostname.includes(':') ? `[${hostname}]` : hostname}:${port}`);
    return peerCertificate(url, { serverName: 'kubernetes.default.svc', timeoutMs: TIMEOUT_MS }).then(
      ({ subjectaltname }) => namesOf(subjectaltname),
      () => undefined,
    );
  }

  /** A kubeconfig whose own server does not answer here may do at an apiserver's address. */
  async #askAnother(): Promise<void> {
    const { kubeconfig, progress } = this.#options;
    if (!kubeconfig || this.#api?.version !== undefined) return;
    const [host] = controlPlanesOf({ hosts: [...this.#places.values()] });
    const [serverName] = host ? commonNames([host]) : [];
    if (!host || serverName === undefined) return;
    const address = host.address.includes(':') ? `[${host.address}]` : host.address;
    progress('asking its kube-apiserver for the others', host.name);
    const api = await surveyApi(kubeconfig, { url: `https://${address}:${portOf(host)}`, serverName });
    if (api.version === undefined) return;
    this.#learn(api);
    await this.#lookAtAll(this.#named());
  }
}

/**
 * Finds out what a cluster is made of: asks the API, looks at hosts over SSH, and from each goes on to those that it names.
 * Changes nothing. What could not be looked at is part of the answer.
 */
export const surveyCluster = async (options: SurveyOptions): Promise<Survey> =>
  new Surveyor(options).survey();
