import { DefinitionError, Filesystem, type CompletionChecker } from "@proviso/core";
import { checkCompletion, describeValue, messageOf } from "@proviso/core/internal";

/**
 * Requires that these files exist. It uses the Filesystem: an evaluation without one fails before its first request. A
 * path that cannot be looked up, because it leads out of the filesystem for example, counts as missing.
 * @throws {DefinitionError} without a path, and for one that is no text.
 */
export function requireFiles(...paths: readonly string[]): CompletionChecker<never> {
  const wrong = paths.findIndex((path: unknown) => typeof path !== "string");
  if (wrong !== -1 || paths.length === 0) {
    const given = wrong === -1 ? ", and was given none" : `, not ${describeValue(paths[wrong])}`;
    throw new DefinitionError(`requireFiles takes paths, requireFiles("a.md", "b.md")${given}.`);
  }
  return {
    name: "require-files",
    uses: [Filesystem],
    async check({ resources }) {
      try {
        const files = await resources.open(Filesystem);
        const found = await Promise.all(paths.map((path) => files.exists(path)));
        const missing = paths.filter((_, index) => found[index] !== true);
        return missing.length === 0 ? undefined : `These files are still missing: ${missing.join(", ")}. Write them.`;
      } catch (error) {
        return `These files could not be looked for: ${paths.join(", ")}. ${messageOf(error)}`;
      }
    },
  };
}

function usedBy(owner: string, checkers: readonly CompletionChecker<never>[]): CompletionChecker["uses"] {
  for (const checker of checkers) checkCompletion(owner, checker ?? null);
  return [...new Set(checkers.flatMap(({ uses = [] }) => uses))];
}

/** Everything that each of them misses. */
export function allOf<Output>(...checkers: readonly CompletionChecker<Output>[]): CompletionChecker<Output> {
  return {
    name: checkers.map(({ name }) => name).join(" and "),
    uses: usedBy("allOf", checkers),
    async check(context) {
      const missing: string[] = [];
      for (const checker of checkers) {
        const text = await checker.check(context);
        if (text !== undefined) missing.push(text);
      }
      return missing.length === 0 ? undefined : missing.join("\n");
    },
  };
}

/** Complete as soon as one of them is; else what the first of them misses, or that one of several will do. */
export function anyOf<Output>(...checkers: readonly CompletionChecker<Output>[]): CompletionChecker<Output> {
  return {
    name: checkers.map(({ name }) => name).join(" or "),
    uses: usedBy("anyOf", checkers),
    async check(context) {
      const missing: string[] = [];
      for (const checker of checkers) {
        const text = await checker.check(context);
        if (text === undefined) return undefined;
        missing.push(text);
      }
      if (missing.length <= 1) return missing[0];
      return ["One of these is still needed:", ...missing.map((text) => `- ${text}`)].join("\n");
    },
  };
}
