import { failed, ok, warning, type Verdict } from './check.js';

/** What there is to log in with. */
export interface SeenIdentities {
  /** Key files that can be used as they are. */
  readonly usable: readonly string[];
  /** Why others cannot, one sentence each. */
  readonly problems: readonly string[];
  /** Undefined: no agent is to be used. */
  readonly agent:
    { readonly socket: string; readonly keys: number } | { readonly failed: string } | undefined;
  /** The transport is the system's ssh, which knows more ways (certificates, hardware keys, GSSAPI). */
  readonly isOpenssh: boolean;
}

/** Whether there is any key to log in with. */
export const judgeIdentities = ({ usable, problems, agent, isOpenssh }: SeenIdentities): Verdict => {
  const inAgent = agent && 'keys' in agent ? agent.keys : 0;
  if (usable.length + inAgent > 0)
    return ok(
      [
        ...(usable.length > 0 ? [usable.join(', ')] : []),
        ...(inAgent > 0 ? [`${inAgent} in ssh-agent`] : []),
      ].join('; '),
    );
  const whyAgent =
    agent === undefined
      ? 'no ssh-agent is used'
      : 'failed' in agent
        ? `ssh-agent does not answer (${agent.failed})`
        : 'ssh-agent holds no key';
  const text = `there is no key to log in with: ${[...problems, whyAgent].join('; ')}`;
  const advice =
    'Load one into ssh-agent (eval "$(ssh-agent)"; ssh-add FILE), or name its file in ssh.identityFiles.';
  return isOpenssh ? warning(`${text}. ssh may still have another way`, advice) : failed(text, advice);
};
