import { listed } from '../listed.js';
import { keyMatrix } from '../matrix.js';
import type { Rule } from '../rule.js';

export const tokenRefused: Rule = {
  id: 'token-unverifiable',
  severity: 'critical',
  why: 'Pods get 401 from that apiserver with tokens that others have signed: behind a load balancer, now and then.',
  action: 'certroll status shows who accepts what; certroll plan rotate-sa-keys shows what would mend it.',
  check: (facts) =>
    keyMatrix(facts).flatMap(({ kid, signers, apiservers }) =>
      signers.length === 0
        ? []
        : apiservers.flatMap(({ host, disk, loaded }) => {
            const who = `tokens of ${listed(signers)}`;
            const subject = `kid ${kid}`;
            const common = { host, component: 'kube-apiserver', subject };
            if (loaded === false)
              return [
                {
                  ...common,
                  text: `${who} are refused by its apiserver${disk === true ? ', which has not loaded what its files hold' : ''}`,
                },
              ];
            return disk === false && loaded === true
              ? [{ ...common, text: `${who} would be refused by its apiserver after its next restart` }]
              : disk === false
                ? [{ ...common, text: `${who} are not verified by any key in the files of its apiserver` }]
                : [];
          }),
    ),
};
