import { spawnSync } from 'node:child_process';
import { argv, exit, stderr, stdout } from 'node:process';
import { Command, Option } from 'commander';
import type { BaseLab } from './base-lab.js';
import { FLAVOURS, topologyOf } from './flavours.js';
import { KubeadmLab } from './kubeadm/lab.js';
import { Lab } from './lab.js';
import { printStatus } from './status.js';
import { hostsOf, type Flavour } from './topology.js';

const hostNames = (flavour: Flavour): string =>
  hostsOf(topologyOf(flavour))
    .map((host) => host.name)
    .join(', ');

const program = new Command('lab')
  .description('Clusters on this machine, on hosts with a real systemd each.')
  .addOption(
    new Option('--flavour <name>', 'how the control planes are laid out')
      .choices(FLAVOURS)
      .default('systemd'),
  )
  .addHelpText(
    'after',
    `
Hosts of systemd: ${hostNames('systemd')}
Hosts of kubeadm: ${hostNames('kubeadm')}

Examples:
  npm run lab -- up                        make the lab, or repair the one that is there
  npm run lab -- status                    hosts, apiservers and who trusts whose tokens
  npm run lab -- exec kubemaster1001 -- systemctl status kube-apiserver
  npm run lab -- kill kubemaster1002       power loss; "start" brings it back
  npm run lab -- cut kubemaster1003        pull its network cable; "heal" puts it back
  npm run lab -- fault                     each apiserver trusts its own tokens only, as at the beginning
  npm run lab -- up --flavour kubeadm      kubelets with static pods, made by kubeadm
  npm run lab -- pristine --flavour kubeadm   all hosts as they were made

An operator's view of a cluster (cluster.yaml, ssh_config, kubeconfig, ...):
  ${FLAVOURS.map((flavour) => `${flavour}: ${topologyOf(flavour).bastion.folder}`).join('\n  ')}`,
  );

const print = (text: string): void => {
  stdout.write(`${text}\n`);
};

const flavour = (): Flavour => program.opts<{ flavour: Flavour }>().flavour;

const attach = (): BaseLab => (flavour() === 'kubeadm' ? KubeadmLab.attach() : Lab.attach());

/** For what only one flavour can do. */
const attachTo = <F extends Flavour>(wanted: F): F extends 'kubeadm' ? KubeadmLab : Lab => {
  if (flavour() !== wanted) throw new Error(`Only --flavour ${wanted} has this command`);
  return attach() as F extends 'kubeadm' ? KubeadmLab : Lab;
};

/** A command that does one thing to one host. */
const onHost = (
  name: string,
  description: string,
  action: (lab: BaseLab, host: string) => Promise<void>,
): void => {
  program
    .command(name)
    .argument('<host>')
    .description(description)
    .action(async (host: string) => {
      await action(attach(), host);
      print(`${host}: ${name} done`);
    });
};

/** Runs a command as root on a host and ends as it ended. */
const enter = async (host: string, command: readonly string[]): Promise<never> => {
  const [file = '', ...args] = await attach().machine(host).enter(command);
  return exit(spawnSync(file, args, { stdio: 'inherit' }).status ?? 1);
};

program
  .command('up')
  .description('make the lab, or repair the one that is there')
  .action(async () => {
    const lab = await (flavour() === 'kubeadm' ? KubeadmLab.up() : Lab.up());
    print(`The lab is up. The operator's files are in ${lab.bastion.folder}`);
  });

program
  .command('down')
  .description('end the hosts and remove everything but the cache')
  .action(async () => {
    await (flavour() === 'kubeadm' ? KubeadmLab.down() : Lab.down());
    print('The lab is down.');
  });

program
  .command('status')
  .description('hosts, apiservers and who trusts whose tokens')
  .action(() => printStatus(attach(), print));

program
  .command('shell')
  .argument('<host>')
  .description('a root shell on a host, past SSH')
  .action((host: string) => enter(host, ['bash', '--login']));

program
  .command('exec')
  .argument('<host>')
  .argument('<command...>')
  .description('run a command as root on a host, past SSH')
  .action(enter);

onHost('cut', "pull the host's network cable", (lab, host) => lab.cut(host));
onHost('heal', 'put the cable back', (lab, host) => lab.heal(host));
onHost('kill', 'end everything on the host at once, as a power loss does', (lab, host) => lab.kill(host));
onHost('poweroff', 'shut the host down in an orderly way', (lab, host) => lab.poweroff(host));
onHost('start', 'start a host that is off', (lab, host) => lab.start(host));

program
  .command('fault')
  .description('systemd: put the fault back: new keys, each trusted by its own apiserver only')
  .action(async () => {
    await attachTo('systemd').restoreFault();
    print('Each apiserver trusts its own tokens only.');
  });

program
  .command('trust')
  .description('systemd: mend the fault by hand, all apiservers at once (not a rotation)')
  .action(async () => {
    await attachTo('systemd').trustEachOther();
    print('Every apiserver trusts the tokens of all.');
  });

program
  .command('pristine')
  .description("kubeadm: make all hosts what they were after the build, etcd's data included")
  .action(async () => {
    await attachTo('kubeadm').restorePristine();
    print('All hosts are as they were made.');
  });

try {
  await program.parseAsync(argv);
} catch (error) {
  stderr.write(`lab: ${error instanceof Error ? error.message : String(error)}\n`);
  exit(1);
}
