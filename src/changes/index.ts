import type { World } from '../trust/world.js';
import type { ApplyContext, Change, ChangeKind } from './change.js';
import { deleteSecret } from './delete-secret.js';
import { generateKey } from './generate-key.js';
import { installFiles } from './install-files.js';
import { putRecords } from './put-records.js';
import { removeFile } from './remove-file.js';
import { restartService } from './restart-service.js';
import { restoreFiles } from './restore-files.js';
import { writeFile } from './write-file.js';

const kinds: { readonly [K in Change['kind']]: ChangeKind<Extract<Change, { kind: K }>> } = {
  'generate-key': generateKey,
  'write-file': writeFile,
  'install-files': installFiles,
  'restore-files': restoreFiles,
  'remove-file': removeFile,
  'restart-service': restartService,
  'put-records': putRecords,
  'delete-secret': deleteSecret,
};

/** TypeScript cannot see that a change and the kind looked up by it belong together; this is the one place that says so. */
const kindOf = (change: Change): ChangeKind<Change> => kinds[change.kind];

/** The host a change is made on; undefined for changes of the registry and of API objects. */
export const hostOfChange = (change: Change): string | undefined =>
  'host' in change ? change.host : undefined;

/** What a change is, for people and the journal. */
export const describeChange = (change: Change): string => kindOf(change).describe(change);

/** The worlds that a crash in the middle of a change could leave. Pure. */
export const partialWorlds = (change: Change, world: World): readonly World[] =>
  kindOf(change).partial?.(change, world) ?? [];

/** What a change makes of the world. Pure. */
export const modelChange = (change: Change, world: World): World => kindOf(change).model(change, world);

/** Makes a change, then looks whether it took place. Throws what the kind throws. */
export const applyChange = async (change: Change, context: ApplyContext): Promise<void> => {
  await kindOf(change).apply(change, context);
  await kindOf(change).verify(change, context);
};
