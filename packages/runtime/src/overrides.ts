import { DefinitionError, overrideOf, type OverridesStore, type PromptOverride } from "@proviso/core";
import { isRecord } from "@proviso/core/provider";
import {
  isForbiddenKey,
  checkOverride,
  checkOverrideTexts,
  checkTag,
  frozenJson,
  type PromptDescriptor,
} from "@proviso/core/internal";

/** Overrides kept in memory, for tests and for what is made anew each time. */
export function memoryOverrides(): OverridesStore {
  const kept = new Map<string, PromptOverride>();
  const place = ({ ns, key }: Pick<PromptDescriptor, "ns" | "key">, tag: string): string => `${ns}/${key}/${tag}`;
  return {
    async resolve(descriptor, tag) {
      checkTag(tag);
      const override = kept.get(place(descriptor, tag));
      if (override !== undefined) checkOverrideTexts(override, descriptor);
      return override;
    },
    async upsert(descriptor, given) {
      const override = parseOverride(given, "The override");
      checkOverride(override, descriptor);
      kept.set(place(descriptor, override.tag), override);
    },
    async seed(template, tag) {
      const known = kept.get(place(template, tag));
      if (known !== undefined) return known;
      const override = parseOverride(overrideOf(template, tag), "The override");
      kept.set(place(template, tag), override);
      return override;
    },
  };
}

/**
 * A plain value as an override, frozen.
 * @throws {DefinitionError} naming `where` and the path of what is wrong.
 */
export function parseOverride(json: unknown, where: string): PromptOverride {
  const fault = (path: string, problem: string): DefinitionError =>
    new DefinitionError(`${where}: ${path} ${problem}.`);
  const record = (value: unknown, path: string, keys?: readonly string[]): Readonly<Record<string, unknown>> => {
    if (!isRecord(value)) throw fault(path, "must be an object");
    for (const key of Object.keys(value)) {
      if (isForbiddenKey(key)) throw fault(`${path}.${key}`, "is not allowed");
      if (keys !== undefined && !keys.includes(key)) throw fault(`${path}.${key}`, "is not known");
    }
    return value;
  };
  const texts = (value: unknown, path: string, keys: readonly string[]): Readonly<Record<string, unknown>> => {
    const fields = record(value, path, [...keys, "hash"]);
    if (typeof fields["hash"] !== "string") throw fault(`${path}.hash`, "must be a text");
    for (const key of keys) {
      if (key === "params" || fields[key] === undefined) continue;
      if (typeof fields[key] !== "string") throw fault(`${path}.${key}`, "must be a text");
    }
    return fields;
  };
  const { tag, sections, tools } = record(json, "override", ["tag", "sections", "tools"]);
  checkTag(tag);
  for (const [path, value] of Object.entries(record(sections, "sections"))) {
    const { visibility } = texts(value, `sections.${path}`, ["text", "summary", "visibility"]);
    if (visibility !== undefined && visibility !== "full" && visibility !== "summary") {
      throw fault(`sections.${path}.visibility`, 'must be "full" or "summary"');
    }
  }
  for (const [name, value] of Object.entries(record(tools, "tools"))) {
    const { params } = texts(value, `tools.${name}`, ["description", "params"]);
    for (const [param, text] of Object.entries(params === undefined ? {} : record(params, `tools.${name}.params`))) {
      if (typeof text !== "string") throw fault(`tools.${name}.params.${param}`, "must be a text");
    }
  }
  // Every part of it was looked at.
  return frozenJson(structuredClone({ tag, sections, tools })) as unknown as PromptOverride;
}
