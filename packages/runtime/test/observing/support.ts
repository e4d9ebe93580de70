import type { CallChanges, FrameworkEvent, Observer, SliceValue, TouchedResource } from "@proviso/core";
import type { Logger } from "@proviso/runtime";

/** What an observer saw, with what `changed` was told read at once. */
export interface Seen {
  readonly events: FrameworkEvent[];
  readonly app: { readonly type: string; readonly of: object }[];
  readonly changes: (Omit<CallChanges, "slices" | "touched"> & {
    readonly states: readonly SliceValue[];
    readonly touched: readonly TouchedResource[];
  })[];
  readonly steps: string[];
}

/** An observer that keeps what it sees. */
export function watching(name = ""): Observer & { readonly seen: Seen } {
  const seen: Seen = { events: [], app: [], changes: [], steps: [] };
  return {
    seen,
    event: (event) => void seen.events.push(event),
    app: ({ type }, of) => void seen.app.push({ type, of }),
    changed({ slices, touched, ...rest }) {
      seen.changes.push({ ...rest, states: slices(), touched: touched() });
    },
    async around(step, work) {
      const what = `${name}${step.kind === "request" ? `request ${step.turn}.${step.attempt}` : step.kind === "tool" ? step.name : step.promptName}`;
      seen.steps.push(`${what} begins`);
      try {
        return await work();
      } finally {
        seen.steps.push(`${what} ends`);
      }
    },
  };
}

/** A logger that keeps its records. */
export function keptLog(): Logger & {
  readonly records: { level: string; message: string; [field: string]: unknown }[];
} {
  const records: { level: string; message: string; [field: string]: unknown }[] = [];
  const keep = (level: string) => (fields: object, message: string) => void records.push({ level, message, ...fields });
  return { records, debug: keep("debug"), info: keep("info"), warn: keep("warn"), error: keep("error") };
}
