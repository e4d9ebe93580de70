import type { PromptDescriptor } from "./descriptor.ts";
import type { PromptTemplate } from "./template.ts";
import type { Visibility } from "./visibility.ts";

/** Texts in place of the prompt's own. Each carries the hash of what it replaces. */
export interface PromptOverride {
  readonly tag: string;
  readonly sections: Readonly<
    Record<string, { hash: string; text?: string; summary?: string; visibility?: Visibility }>
  >;
  readonly tools: Readonly<
    Record<string, { hash: string; description?: string; params?: Readonly<Record<string, string>> }>
  >;
}

/** Where overrides are kept. Not supported yet by `evaluate`. */
export interface OverridesStore {
  resolve(descriptor: PromptDescriptor, tag: string): Promise<PromptOverride | undefined>;
  upsert(descriptor: PromptDescriptor, override: PromptOverride): Promise<void>;
  seed(template: PromptTemplate<never, unknown>, tag: string): Promise<PromptOverride>;
}
