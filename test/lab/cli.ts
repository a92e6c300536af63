import { spawnSync } from 'node:child_process';
import { argv, exit, stderr, stdout } from 'node:process';
import { Command } from 'commander';
import { Lab } from './lab.js';
import { ALL_HOSTS, LAB_DIR } from './settings.js';
import { printStatus } from './status.js';

const program = new Command('lab')
  .description('Three control planes, a load balancer and a PKI on this machine, with a real systemd each.')
  .addHelpText(
    'after',
    `
Hosts: ${ALL_HOSTS.map((host) => host.name).join(', ')} (or with .lab.example.net)

Examples:
  npm run lab -- up                        make the lab, or repair the one that is there
  npm run lab -- status                    hosts, apiservers and who trusts whose tokens
  npm run lab -- exec kubemaster1001 -- systemctl status kube-apiserver
  npm run lab -- kill kubemaster1002       power loss; "start" brings it back
  npm run lab -- cut kubemaster1003        pull its network cable; "heal" puts it back
  npm run lab -- fault                     each apiserver trusts its own tokens only, as at the beginning

An operator's view of the cluster: ${LAB_DIR}/bastion (cluster.yaml, ssh_config, kubeconfig, ...)`,
  );

const print = (text: string): void => {
  stdout.write(`${text}\n`);
};

/** A command that does one thing to one host. */
const onHost = (
  name: string,
  description: string,
  action: (lab: Lab, host: string) => Promise<void>,
): void => {
  program
    .command(name)
    .argument('<host>')
    .description(description)
    .action(async (host: string) => {
      await action(Lab.attach(), host);
      print(`${host}: ${name} done`);
    });
};

program
  .command('up')
  .description('make the lab, or repair the one that is there')
  .action(async () => {
    const lab = await Lab.up();
    print(`The lab is up. The operator's files are in ${lab.bastion.folder}`);
  });

program
  .command('down')
  .description('end the hosts and remove everything but the cache')
  .action(async () => {
    await Lab.down();
    print('The lab is down.');
  });

program
  .command('status')
  .description('hosts, apiservers and who trusts whose tokens')
  .action(() => printStatus(Lab.attach(), print));

program
  .command('shell')
  .argument('<host>')
  .description('a root shell on a host, past SSH')
  .action(async (host: string) => {
    const [file = '', ...args] = await Lab.attach().machine(host).enter(['bash', '--login']);
    exit(spawnSync(file, args, { stdio: 'inherit' }).status ?? 1);
  });

program
  .command('exec')
  .argument('<host>')
  .argument('<command...>')
  .description('run a command as root on a host, past SSH')
  .action(async (host: string, command: string[]) => {
    const [file = '', ...args] = await Lab.attach().machine(host).enter(command);
    exit(spawnSync(file, args, { stdio: 'inherit' }).status ?? 1);
  });

onHost('cut', "pull the host's network cable", (lab, host) => lab.cut(host));
onHost('heal', 'put the cable back', (lab, host) => lab.heal(host));
onHost('kill', 'end everything on the host at once, as a power loss does', (lab, host) => lab.kill(host));
onHost('poweroff', 'shut the host down in an orderly way', (lab, host) => lab.poweroff(host));
onHost('start', 'start a host that is off', (lab, host) => lab.start(host));

program
  .command('fault')
  .description('put the fault back: new keys, each trusted by its own apiserver only')
  .action(async () => {
    await Lab.attach().restoreFault();
    print('Each apiserver trusts its own tokens only.');
  });

program
  .command('trust')
  .description('mend the fault by hand, all apiservers at once (not a rotation)')
  .action(async () => {
    await Lab.attach().trustEachOther();
    print('Every apiserver trusts the tokens of all.');
  });

try {
  await program.parseAsync(argv);
} catch (error) {
  stderr.write(`lab: ${error instanceof Error ? error.message : String(error)}\n`);
  exit(1);
}
