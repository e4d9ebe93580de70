import type { RestoreFault, UnusableError } from "@proviso/core";
import type { Run } from "./run.ts";

/** Its own, redacted when they were reported, or that of whoever else made the session unusable meanwhile. */
export function faultsOf({ faults, core, redaction }: Run): readonly RestoreFault[] {
  if (faults.length > 0) return [...faults];
  try {
    core.assertUsable();
    return [];
  } catch (cause) {
    const { operation, message } = cause as UnusableError;
    return [{ operation, callIds: [], message: redaction.value(message), cause: redaction.value(cause) }];
  }
}
