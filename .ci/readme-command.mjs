// Prints the command of the README that stands in the code block after the marker `<!-- command: NAME -->`, so that CI
// runs what the README says and not something like it.
import { readFileSync } from 'node:fs';

const name = process.argv[2];
const text = readFileSync('README.md', 'utf8');
const found = new RegExp(`<!-- command: ${name} -->\\s*\`\`\`sh\\n(.*?)\`\`\``, 's').exec(text);
if (!found) {
  console.error(`README.md has no command '${name}'`);
  process.exit(1);
}
console.log(found[1].trim());
