import type { HostFile } from '../files.js';
import type { HostSpec } from '../topology.js';
import { KUBEADM, NODES, podSubnetOf } from './settings.js';

/**
 * What a kubelet wants and a container of nspawn does not have by itself. The control groups are mounted
 * read-only. A kubelet sets three settings of the kernel, which are those of the whole machine here, unless
 * they have its values already: it is shown files that have them, and the machine's own stay as they are.
 */
const PREPARE = `#!/bin/sh
set -eu
for tree in /sys/fs/cgroup/*; do
  if [ -e "$tree/cgroup.procs" ]; then mount -o remount,rw,bind "$tree"; fi
done
[ -e /dev/kmsg ] || : > /dev/kmsg
mkdir -p /run/lab-sysctl
for setting in vm/overcommit_memory=1 kernel/panic=10 kernel/panic_on_oops=1; do
  shown=/run/lab-sysctl/$(echo "\${setting%=*}" | tr / .)
  if [ ! -e "$shown" ]; then
    echo "\${setting#*=}" > "$shown"
    mount --bind "$shown" "/proc/sys/\${setting%=*}"
  fi
done
echo 1 > /proc/sys/net/ipv4/ip_forward
`;

/** Routes to the pods of the other nodes, as a network plugin would make them; and one out, which a kubelet wants. */
const routes = (host: HostSpec): string[] => [
  `ExecStart=/bin/ip route replace default via ${KUBEADM.network.gateway}`,
  ...NODES.filter((other) => other !== host).map(
    (other) => `ExecStart=/bin/ip route replace ${podSubnetOf(other)} via ${other.address}`,
  ),
];

const prepareUnit = (host: HostSpec): string =>
  [
    '[Unit]',
    'Description=What a kubelet wants of its host',
    'After=lab-address.service',
    'Requires=lab-address.service',
    'Before=containerd.service kubelet.service',
    '[Service]',
    'Type=oneshot',
    'RemainAfterExit=yes',
    'ExecStart=/usr/local/sbin/lab-prepare',
    ...routes(host),
    '[Install]',
    'WantedBy=multi-user.target',
    '',
  ].join('\n');

/** As kubeadm's packages have it: a unit, and a drop-in that takes the flags that kubeadm writes. */
const KUBELET_UNIT = `[Unit]
Description=kubelet
Wants=network-online.target
After=network-online.target containerd.service lab-prepare.service
StartLimitIntervalSec=0
[Service]
ExecStart=/usr/bin/kubelet
Restart=always
RestartSec=2
[Install]
WantedBy=multi-user.target
`;

const KUBELET_DROP_IN = `[Service]
Environment="KUBELET_KUBECONFIG_ARGS=--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf"
Environment="KUBELET_CONFIG_ARGS=--config=/var/lib/kubelet/config.yaml"
EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env
EnvironmentFile=-/etc/default/kubelet
ExecStart=
ExecStart=/usr/bin/kubelet $KUBELET_KUBECONFIG_ARGS $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS
`;

/** Debian keeps the plugins of CNI elsewhere than others. */
const containerdConfig = (pauseImage: string): string => `version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${pauseImage}"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "/etc/cni/net.d"
`;

/** A bridge on each node: pods reach one another by the routes above, and nothing else. */
const networkConfig = (host: HostSpec): string =>
  JSON.stringify(
    {
      cniVersion: '0.4.0',
      name: 'lab',
      plugins: [
        {
          type: 'bridge',
          bridge: 'cni0',
          isGateway: true,
          ipMasq: false,
          ipam: {
            type: 'host-local',
            ranges: [[{ subnet: podSubnetOf(host) }]],
            routes: [{ dst: '0.0.0.0/0' }],
          },
        },
        { type: 'portmap', capabilities: { portMappings: true } },
      ],
    },
    null,
    2,
  );

/** Every file that a host has before kubeadm makes a node of it. */
export const nodeFiles = (host: HostSpec, pauseImage: string): HostFile[] => [
  { path: '/usr/local/sbin/lab-prepare', content: PREPARE, mode: 0o755 },
  { path: '/etc/systemd/system/lab-prepare.service', content: prepareUnit(host) },
  { path: '/etc/systemd/system/kubelet.service', content: KUBELET_UNIT },
  { path: '/etc/systemd/system/kubelet.service.d/10-kubeadm.conf', content: KUBELET_DROP_IN },
  { path: '/etc/containerd/config.toml', content: containerdConfig(pauseImage) },
  { path: '/etc/cni/net.d/10-lab.conflist', content: networkConfig(host) },
  // A kubelet makes no pod without one.
  { path: '/etc/resolv.conf', content: '# The lab has no name server.\n' },
];

export const NODE_UNITS = ['lab-prepare.service', 'containerd.service', 'kubelet.service'] as const;
