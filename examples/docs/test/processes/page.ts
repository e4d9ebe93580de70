// Runs programs, which come as JSON on standard input, one after the other, each as a file of this example
// that is written nowhere; after each it prints a line that no program prints.
import { registerHooks } from "node:module";
import { text } from "node:stream/consumers";

const programs = JSON.parse(await text(process.stdin)) as readonly string[];
const urls = programs.map((_, number) => new URL(`../program-${number}.ts`, import.meta.url).href);

registerHooks({
  resolve(specifier, context, next) {
    return urls.includes(specifier) ? { url: specifier, shortCircuit: true } : next(specifier, context);
  },
  load(url, context, next) {
    const source = programs[urls.indexOf(url)];
    return source === undefined ? next(url, context) : { format: "module-typescript", source, shortCircuit: true };
  },
});

for (const url of urls) {
  await import(url);
  process.stdout.write("\u0000\n");
}
