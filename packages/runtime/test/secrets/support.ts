import { inspect } from "node:util";
import type { ProviderAdapter, Prompt, SessionEvent } from "@proviso/core";
import { createSession, modelAdapter, type AdapterOptions } from "@proviso/runtime";
import { fakeEnvironment, recordEvents, scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import type { Logger } from "@proviso/runtime";

/** Everything that an evaluation shows of itself. */
export interface Shown {
  readonly events: readonly SessionEvent[];
  readonly logs: readonly unknown[];
  readonly error: (Error & Record<string, unknown>) | undefined;
  readonly session: ReturnType<typeof createSession>;
}

export async function shownBy(
  secrets: readonly string[],
  steps: readonly ScriptedStep[],
  prompt: Prompt<unknown>,
  options: AdapterOptions = {},
): Promise<Shown> {
  return shownWith(modelAdapter(scriptedModel(steps), { ...fakeEnvironment(), secrets, ...options }), prompt);
}

export async function shownWith(adapter: ProviderAdapter, prompt: Prompt<unknown>): Promise<Shown> {
  const session = createSession();
  const events = recordEvents(session);
  const error = await adapter.evaluate(prompt, { session }).then(
    () => undefined,
    (thrown: Error & Record<string, unknown>) => thrown,
  );
  return { events, logs: [], error, session };
}

/** As printed, with what is inside Maps, Headers and the like. */
export function printed(value: unknown): string {
  return inspect(value, { depth: null, maxStringLength: null, maxArrayLength: null, breakLength: Infinity });
}

export function recordingLogger(): Logger & { readonly records: unknown[] } {
  const records: unknown[] = [];
  const log = (fields: object, message: string): void => void records.push({ ...fields, message });
  return { records, debug: log, info: log, warn: log, error: log };
}
