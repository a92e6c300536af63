import { commandLine } from './command-line.js';
import { clientFiles, parseJump, resolveTarget, type SshSettings, type SshTarget } from './ssh-config.js';

/**
 * Options that hold for every hop, whatever ssh_config says: never a question, never an unknown
 * host key, nothing forwarded or run besides what certroll asks for.
 */
const STRICT = [
  'BatchMode=yes',
  'StrictHostKeyChecking=yes',
  'UpdateHostKeys=no',
  'ForwardAgent=no',
  'ForwardX11=no',
  'ClearAllForwardings=yes',
  'PermitLocalCommand=no',
  'RemoteCommand=none',
  'RequestTTY=no',
  'ConnectionAttempts=1',
  'ServerAliveInterval=5',
  'ServerAliveCountMax=3',
  'ControlMaster=no',
  'ControlPath=none',
  'LogLevel=ERROR',
];

export interface ArgumentOptions {
  readonly settings: SshSettings;
  /** Milliseconds. */
  readonly timeoutMs: number;
}

/**
 * The options of `ssh` that reach a target: the cluster file's own settings before those of
 * ssh_config. Options of the caller's own go in front, for ssh takes the first of each.
 */
export const sshArguments = async (target: SshTarget, options: ArgumentOptions): Promise<string[]> => {
  const { settings, timeoutMs } = options;
  const { ssh } = settings;
  const files = clientFiles(settings);
  const proxy = await proxyCommand(target, options);
  return [
    ...(files.config === undefined ? [] : ['-F', files.config]),
    ...['-l', target.user, '-p', String(target.port)],
    ...STRICT.flatMap((option) => ['-o', option]),
    ...['-o', `ConnectTimeout=${Math.ceil(timeoutMs / 1000)}`],
    ...(ssh.agent ? [] : ['-o', 'IdentityAgent=none']),
    ...(files.identityFiles ?? []).flatMap((file) => ['-o', `IdentityFile=${quoteValue(file)}`]),
    ...(files.knownHosts === undefined
      ? []
      : [
          '-o',
          `UserKnownHostsFile=${files.knownHosts.map(quoteValue).join(' ')}`,
          '-o',
          'GlobalKnownHostsFile=none',
        ]),
    ...(proxy === undefined ? [] : ['-o', `ProxyCommand=${proxy}`]),
  ];
};

/**
 * The way through the last jump host, as an own ProxyCommand: ssh's ProxyJump would run the hop
 * without these strict options.
 */
const proxyCommand = async (target: SshTarget, options: ArgumentOptions): Promise<string | undefined> => {
  const last = target.jumps.at(-1);
  if (last === undefined) return undefined;
  const { name, ...overrides } = parseJump(last);
  const hop = await resolveTarget(name, options.settings, { ...overrides, isHop: true });
  const before = target.jumps.slice(0, -1);
  const words = await sshArguments(before.length === 0 ? hop : { ...hop, jumps: before }, options);
  const line = commandLine(['ssh', ...words]).replaceAll('%', '%%');
  return `${line} -W '[%h]:%p' -- ${commandLine([name])}`;
};

/** A file name as a value of an option: with spaces kept together and no %-tokens. */
const quoteValue = (file: string): string => `"${file.replaceAll('%', '%%')}"`;
