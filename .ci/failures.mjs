// The failed tests in a report of vitest: file, name, and the start of what went wrong.
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';

const LINES = 12;
const report = JSON.parse(readFileSync(process.argv[2], 'utf8'));
for (const file of report.testResults) {
  const name = relative(process.cwd(), file.name);
  if (file.status === 'failed' && file.assertionResults.every(({ status }) => status !== 'failed'))
    console.log(`failed: ${name}\n${file.message ?? ''}`);
  for (const test of file.assertionResults.filter(({ status }) => status === 'failed')) {
    console.log(`failed: ${name}: ${test.fullName}`);
    const said = test.failureMessages.join('\n').split('\n').slice(0, LINES);
    console.log(said.map((line) => `  ${line.slice(0, 400)}`).join('\n'));
  }
}
