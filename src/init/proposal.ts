import { foldHosts } from '../hosts/fold.js';
import { parseApiserverFlags, parseStartFiles } from '../kube/flags.js';
import { commonNames, etcdEndpoints, freeKeyFiles, modeOf, nameFor, portOf } from './choose.js';
import { layoutOf, type Proposed } from './layout.js';
import { controlPlanesOf, type SeenHost, type SeenProcess, type Survey } from './seen.js';

/** One value of the cluster file, and what is said of it there. */
export interface Setting {
  /** Keys from the top, with dots: `etcd.endpoints`. */
  readonly path: string;
  readonly value: unknown;
  readonly comment: readonly string[];
}

/** What could not be found out, or must be done by hand before the file can be used. */
export interface Gap {
  /** The setting it is about. */
  readonly path: string;
  readonly text: string;
}

export interface Proposal {
  readonly settings: readonly Setting[];
  readonly gaps: readonly Gap[];
}

/** What the user said instead of leaving it to be found out. */
export interface Given {
  readonly name?: string;
  /** The `ssh` section: what was given on the command line. */
  readonly ssh: Readonly<Record<string, unknown>>;
}

type Part = { readonly settings?: readonly Setting[]; readonly gaps?: readonly Gap[] };

const DEFAULT_LOCK = 'apiserver-restart';

const shortList = (items: readonly string[]): string =>
  items.length > 6 ? `${items.slice(0, 6).join(', ')} and ${items.length - 6} more` : items.join(', ');

const name = (survey: Survey, { name: given }: Given): Part => {
  const { value, where } = given === undefined ? nameFor(survey) : { value: given, where: 'given by --name' };
  return {
    settings: [
      {
        path: 'name',
        value,
        comment: [`Names the cluster in the journal, the lock and the key registry: ${where}.`],
      },
    ],
  };
};

const hosts = (survey: Survey): Part => {
  const found = controlPlanesOf(survey);
  const workers = survey.api?.nodes ?? [];
  const unreached = survey.unreached.map(({ name: host, where, why }) => ({
    path: 'controlPlanes.hosts',
    text: `${host} (${where}) could not be looked at, and is left out: ${why}`,
  }));
  return {
    settings: [
      {
        path: 'controlPlanes.hosts',
        value: foldHosts(found.map((host) => host.name)),
        comment: [
          'A kube-apiserver was seen to run on each of these:',
          ...found.map((host) => `  ${host.name} (${host.address}): ${host.where}`),
          ...unreached.map(({ text }) => `NOT here: ${text}`),
        ],
      },
      ...(workers.length === 0
        ? []
        : [
            {
              path: 'nodes.hosts',
              value: foldHosts(workers.map((node) => node.name)),
              comment: [
                `Nodes without the label of a control plane (${survey.api?.how ?? ''}), which an audit looks at over SSH too.`,
                'Take this away when certroll may not log in there.',
              ],
            },
          ]),
    ],
    gaps: unreached,
  };
};

const ssh = (_survey: Survey, given: Given): Part => ({
  settings: Object.entries(given.ssh).map(([key, value], at) => ({
    path: `ssh.${key}`,
    value,
    comment: at === 0 ? ['As given to certroll init; whatever is not here is as ~/.ssh/config says.'] : [],
  })),
});

/** How the files that an apiserver's own flags name can stand in for those that the bastion lacks. */
const etcdAdvice = (found: readonly SeenHost[]): readonly string[] => {
  const [first] = found;
  const { etcdBundle, etcdPair } = parseStartFiles(first?.apiserver?.argv ?? []);
  if (!first) return [];
  return [
    ...(etcdBundle === undefined
      ? []
      : [`CA: ssh ${first.name} sudo cat ${etcdBundle} > etcd-ca.crt (it is public).`]),
    `Client pair: have the CA of etcd issue one for this machine. certroll copies no private key${etcdPair ? `; the apiservers' own is ${etcdPair.certificate}` : ''}.`,
  ];
};

const etcd = (survey: Survey): Part => {
  const found = controlPlanesOf(survey);
  const { urls, lost } = etcdEndpoints(found);
  const { etcdFiles: files } = survey;
  const members = files?.memberUrls ?? [];
  const endpoints = urls.length > 0 ? urls : members;
  const unknown = members.filter((url) => !endpoints.includes(url.replace(/\/+$/, '')));
  const isSecure = endpoints.some((url) => url.startsWith('https:'));
  const gaps: Gap[] = [
    ...lost.map((text) => ({
      path: 'etcd.endpoints',
      text: `an etcd that only its own host reaches (${text}) and that tells no other address is left out`,
    })),
    ...(endpoints.length === 0
      ? [
          {
            path: 'etcd.endpoints',
            text: 'no --etcd-servers was seen: put the client URLs of etcd here',
          },
        ]
      : []),
    ...(isSecure && !files
      ? [
          {
            path: 'etcd.cert',
            text: `no client files of etcd on this machine were let in: put them where etcd.ca, etcd.cert and etcd.key say. ${etcdAdvice(found).join(' ')}`,
          },
        ]
      : []),
  ];
  const advice = gaps.filter(({ path }) => path === 'etcd.cert').flatMap(() => etcdAdvice(found));
  const fileSettings: readonly Setting[] = !isSecure
    ? []
    : [
        {
          path: 'etcd.ca',
          value: files?.ca ?? './etcd-ca.crt',
          comment: files
            ? [`Files of this machine that etcd was seen to let in: ${files.where}.`]
            : ['NOT found on this machine; put them here:', ...advice],
        },
        { path: 'etcd.cert', value: files ? files.cert : './etcd-client.crt', comment: [] },
        { path: 'etcd.key', value: files ? files.key : './etcd-client.key', comment: [] },
        ...(files?.serverName === undefined
          ? []
          : [
              {
                path: 'etcd.serverName',
                value: files.serverName,
                comment: ['The name that the certificates of etcd carry.'],
              },
            ]),
      ].filter(({ value }) => value !== undefined);
  return {
    settings: [
      {
        path: 'etcd.endpoints',
        value: endpoints.length > 0 ? endpoints : ['https://127.0.0.1:2379'],
        comment: [
          ...(endpoints.length === 0
            ? ['NOT found out: no flag names etcd.']
            : urls.length > 0
              ? [
                  `--etcd-servers of the running kube-apiservers on ${foldHosts(found.map((host) => host.name))}.`,
                ]
              : ["By etcd's own list of members."]),
          ...(unknown.length > 0 ? [`etcd's list of members has besides: ${shortList(unknown)}.`] : []),
        ],
      },
      ...fileSettings,
    ],
    gaps,
  };
};

const api = (survey: Survey): Part => {
  const found = controlPlanesOf(survey);
  const ports = new Map(found.map((host) => [host.name, portOf(host)]));
  const distinct = [...new Set(ports.values())];
  const names = commonNames(found);
  const unseen = found.filter(({ servedNames }) => servedNames === undefined);
  const [first] = found;
  const gaps: Gap[] = [
    ...(survey.kubeconfig
      ? []
      : [
          {
            path: 'api.kubeconfig',
            text: `no kubeconfig was given: put one here (mode 600) that may do what 'certroll doctor' lists${first ? `; on ${first.name}: kubeadm kubeconfig user --client-name certroll --org kubeadm:cluster-admins` : ''}`,
          },
        ]),
    ...(names.length === 0 && found.length > unseen.length
      ? [
          {
            path: 'api.serverName',
            text: 'no name is on the certificates of all apiservers: have them issued with one, such as kubernetes.default.svc',
          },
        ]
      : []),
    ...unseen.map((host) => ({
      path: 'api.serverName',
      text: `the certificate that ${host.name} serves at ${host.address} port ${portOf(host)} could not be seen from here`,
    })),
  ];
  const gap = (path: string): readonly string[] =>
    gaps.filter((each) => each.path === path).map(({ text }) => `NOT found out: ${text}`);
  return {
    settings: [
      {
        path: 'api.kubeconfig',
        value: survey.kubeconfig?.value ?? './kubeconfig',
        comment: survey.kubeconfig
          ? [`${survey.kubeconfig.where}; its credentials are used, its server (the load balancer) is not.`]
          : gap('api.kubeconfig'),
      },
      {
        path: 'api.port',
        value: distinct[0] ?? 6443,
        comment: ['--secure-port of the running kube-apiservers; each is asked at its own address.'],
      },
      ...(distinct.length > 1
        ? [{ path: 'api.ports', value: Object.fromEntries(ports), comment: ['Where they differ.'] }]
        : []),
      {
        path: 'api.serverName',
        value: names[0] ?? 'kubernetes.default.svc',
        comment:
          names.length === 0
            ? [...gap('api.serverName'), ...(gaps.length === 0 ? ['NOT found out.'] : [])]
            : [
                `On the certificate that each apiserver serves at its own address. Others that all carry: ${shortList(names.slice(1)) || 'none'}.`,
                ...gap('api.serverName'),
              ],
      },
    ],
    gaps,
  };
};

const MODES = {
  'per-host': 'Each control plane signs with a key of its own',
  shared: 'All control planes sign with one key',
} as const;

const serviceAccounts = (survey: Survey): Part => {
  const found = controlPlanesOf(survey);
  const mode = modeOf(found);
  const kids = found.map((host) => `  ${host.name}: ${host.signingKid ?? 'not read'}`);
  const isKnown = mode === 'per-host' || mode === 'shared';
  const text =
    mode === 'mixed'
      ? 'some control planes share a signing key and some do not'
      : 'the signing key of some control plane could not be read';
  const bundles = found.map(freeKeyFiles).map((files) => files.at(-1));
  const [bundle] = bundles;
  const isSame = bundle !== undefined && bundles.every((each) => each === bundle);
  const without = found.filter((_host, at) => bundles[at] === undefined);
  const external = found.filter(
    ({ apiserver }) => parseApiserverFlags(apiserver?.argv ?? []).signingEndpoint !== undefined,
  );
  return {
    settings: [
      {
        path: 'serviceAccounts.mode',
        value: isKnown ? mode : 'per-host',
        comment: [
          isKnown
            ? `${found.length === 1 ? 'One control plane: per-host or shared is the same' : MODES[mode]}, by the ids of their signing keys:`
            : `NOT found out: ${text}. The ids of their signing keys:`,
          ...kids,
        ],
      },
      ...(isSame
        ? [
            {
              path: 'serviceAccounts.bundle',
              value: bundle,
              comment: [
                'Takes the published keys: the last --service-account-key-file that is neither the signing key nor its certificate.',
              ],
            },
          ]
        : []),
    ],
    gaps: [
      ...(isKnown || found.length === 0 ? [] : [{ path: 'serviceAccounts.mode', text }]),
      ...without
        .filter((host) => !external.includes(host))
        .map((host) => ({
          path: 'serviceAccounts.bundle',
          text: `${host.name} has no --service-account-key-file that published keys could go into: add one before the first rotation`,
        })),
      ...external.map((host) => ({
        path: 'serviceAccounts.mode',
        text: `${host.name} has an external signer (--service-account-signing-endpoint): there is nothing to rotate for certroll`,
      })),
    ],
  };
};

/** One value for all hosts, as the cluster file has it; undefined when they differ or one is not known. */
const sameFor = (
  found: readonly SeenHost[],
  pick: (host: SeenHost) => SeenProcess | undefined,
): Proposed | undefined => {
  const all = found.map((host) => {
    const process = pick(host);
    return process && layoutOf(process);
  });
  const [first] = all;
  return first !== undefined &&
    all.every((each) => JSON.stringify(each?.value) === JSON.stringify(first.value))
    ? first
    : undefined;
};

const runs = (found: readonly SeenHost[], key: 'apiserver' | 'controllerManager'): Part => {
  const path = `services.${key}`;
  const program = key === 'apiserver' ? 'kube-apiserver' : 'kube-controller-manager';
  const pick = (host: SeenHost): SeenProcess | undefined => host[key];
  if (found.length > 0 && found.every((host) => pick(host) === undefined)) {
    if (key === 'controllerManager')
      return {
        settings: [{ path, value: false, comment: [`No ${program} was seen on the control planes.`] }],
      };
  }
  const same = sameFor(found, pick);
  if (same)
    return {
      settings: [{ path, value: same.value, comment: [`Seen on every control plane: ${same.where}.`] }],
    };
  const each = found.map((host) => {
    const process = pick(host);
    const layout = process && layoutOf(process);
    return `  ${host.name}: ${process ? (layout ? JSON.stringify(layout.value) : `process ${process.pid}, of no unit and no static pod`) : 'not running'}`;
  });
  const text = `${program} does not run in one way that can be told from outside on all hosts`;
  return {
    settings: [
      {
        path,
        value: { systemd: `${program}.service` },
        comment: [
          `NOT found out: ${text}:`,
          ...each,
          'For one that is started by a command of its own:',
          `  ${key}: { command: { restart: ['/path/to/ctl', restart], pidFile: '/run/${program}.pid' } }`,
        ],
      },
    ],
    gaps: [{ path, text: `${text}: ${each.map((line) => line.trim()).join('; ')}` }],
  };
};

const lock = (survey: Survey): Part => {
  const names = [...new Set(survey.hosts.flatMap(({ lockNames }) => lockNames))].sort();
  const [first] = names;
  return {
    settings: [
      {
        path: 'lock.name',
        value: first ?? DEFAULT_LOCK,
        comment:
          first === undefined
            ? [
                'Nothing on the hosts was seen to take a lock of etcd. What restarts apiservers there must take this one:',
                `  etcdctl lock ${DEFAULT_LOCK} systemctl restart kube-apiserver.service`,
              ]
            : [
                `Units or cron jobs on the hosts take this lock with etcdctl${names.length > 1 ? `; others: ${names.slice(1).join(', ')}` : ''}.`,
              ],
      },
    ],
    gaps:
      names.length > 1
        ? [{ path: 'lock.name', text: `several locks are taken on the hosts: ${names.join(', ')}` }]
        : [],
  };
};

const issuer = (survey: Survey): Part => {
  const issuers = [...new Set(controlPlanesOf(survey).flatMap((host) => host.signingIssuer ?? []))];
  return {
    settings: [
      {
        path: 'issuer.type',
        value: 'none',
        comment: [
          issuers.length === 0
            ? 'No certificate of a signing key was seen. With an issuer new keys get one, and so an expiry:'
            : `The signing keys of today have certificates of ${shortList(issuers)}; name that PKI here, or new keys get none:`,
          '  issuer: { type: local-ca, cert: ./sa-ca.crt, key: ./sa-ca.key }',
          "  issuer: { type: cfssl, url: 'https://pki.example.net:8888', authKey: { file: ./auth-key }, label: service_accounts }",
        ],
      },
    ],
    gaps:
      issuers.length === 0
        ? []
        : [
            {
              path: 'issuer.type',
              text: `signing keys have certificates of ${shortList(issuers)}, and which PKI that is nobody on the hosts says`,
            },
          ],
  };
};

/** What the cluster file is to say, by what was seen. Pure. */
export const propose = (survey: Survey, given: Given): Proposal => {
  const found = controlPlanesOf(survey);
  const parts: readonly Part[] = [
    name(survey, given),
    hosts(survey),
    ssh(survey, given),
    etcd(survey),
    lock(survey),
    api(survey),
    serviceAccounts(survey),
    issuer(survey),
    runs(found, 'apiserver'),
    runs(found, 'controllerManager'),
  ];
  return {
    settings: parts.flatMap(({ settings = [] }) => settings),
    gaps: [...parts.flatMap(({ gaps = [] }) => gaps), ...survey.notes.map((text) => ({ path: '', text }))],
  };
};
