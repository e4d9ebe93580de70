import { DefinitionError } from "@proviso/core";
import { contentHash } from "@proviso/core/internal";

/** Characters of a tool's name that providers take. */
const longest = 64;
const digits = 8;

/** The name of a server's tool among our tools: the same every time. */
export function toolName(prefix: string, name: string): string {
  const whole = `${prefix}${name}`;
  const written = whole.replaceAll(/[^a-zA-Z0-9_-]/gu, "_");
  if (written.length <= longest && written !== "") return written;
  return `${written.slice(0, longest - digits)}${contentHash(whole).slice(0, digits)}`;
}

/** @throws {DefinitionError} for two tools of one name, naming both. */
export function checkNames(names: readonly (readonly [own: string, name: string])[], server: string): void {
  const known = new Map<string, string>();
  for (const [own, name] of names) {
    const other = known.get(name);
    if (other === own) throw new DefinitionError(`${server} lists the tool ${JSON.stringify(own)} twice.`);
    if (other !== undefined) {
      throw new DefinitionError(
        `The tools ${JSON.stringify(other)} and ${JSON.stringify(own)} of ${server} would both be called ${name}: leave one out with \`only\`.`,
      );
    }
    known.set(name, own);
  }
}
