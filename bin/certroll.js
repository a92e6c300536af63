#!/usr/bin/env node
import { readFileSync } from 'node:fs';

const [, , word, ...rest] = process.argv;
const read = (path) => readFileSync(new URL(path, import.meta.url), 'utf8');

const { outliveOutput } = await import('../dist/cli/output.js');
outliveOutput();

// The two that people and scripts ask for most are answered without loading anything else; the build writes help.txt.
if (rest.length === 0 && (word === '--version' || word === '-V')) {
  console.log(JSON.parse(read('../package.json')).version);
} else if (rest.length === 0 && (word === '--help' || word === '-h')) {
  process.stdout.write(read('../dist/cli/help.txt'));
} else {
  const { main } = await import('../dist/cli/main.js');
  process.exitCode = await main(process.argv);
}
