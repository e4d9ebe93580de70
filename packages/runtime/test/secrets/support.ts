import { inspect } from "node:util";
import type { Prompt, SessionEvent } from "@proviso/core";
import { createSession, modelAdapter, type Logger } from "@proviso/runtime";
import { fakeEnvironment, recordEvents, scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";

/** What an evaluation shows of itself. */
export interface Shown {
  readonly events: readonly SessionEvent[];
  readonly error: (Error & Record<string, unknown>) | undefined;
}

export async function shownBy(
  secrets: readonly string[],
  steps: readonly ScriptedStep[],
  prompt: Prompt<unknown>,
): Promise<Shown> {
  const session = createSession();
  const events = recordEvents(session);
  const adapter = modelAdapter(scriptedModel(steps), { ...fakeEnvironment(), secrets });
  const error = await adapter.evaluate(prompt, { session }).then(
    () => undefined,
    (thrown: Error & Record<string, unknown>) => thrown,
  );
  return { events, error };
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
