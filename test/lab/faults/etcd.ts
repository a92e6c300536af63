import type { Lab } from '../lab.js';
import { CONTROL_PLANES } from '../settings.js';

interface EndpointStatus {
  readonly Endpoint: string;
  readonly Status: { readonly leader: number; readonly header: { readonly member_id: number } };
}

/** The host whose etcd leads now, as etcdctl tells it. */
export const etcdLeader = async (lab: Lab): Promise<string> => {
  // The ids are larger than what a JSON number holds exactly; as text they compare well.
  const text = await lab.etcdctl(['endpoint', 'status', '--write-out=json']);
  const exact = text.replace(/:(\d{16,})/g, ':"$1"');
  const members = JSON.parse(exact) as readonly EndpointStatus[];
  const found = members.find(({ Status }) => Status.leader === Status.header.member_id);
  const host = CONTROL_PLANES.find(({ address }) => found?.Endpoint.includes(address) === true);
  if (!host) throw new Error(`no leader in ${text}`);
  return host.name;
};
