/** Ends a playground when its time is over: `watchdog.ts FOLDER SECONDS`. */
import { setTimeout as delay } from 'node:timers/promises';
import { endDaemons } from './daemons.js';
import { paths } from './settings.js';

const [dir = '', seconds = '0'] = process.argv.slice(2);
await delay(Number(seconds) * 1000);
await endDaemons(dir, paths(dir).pid('.'));
