import { DefinitionError, type ThrottlePolicy } from "@proviso/core";
import { describeValue } from "@proviso/core/internal";
import { checkAdapterOptions, checkModelSettings, environmentVariable } from "@proviso/adapter-kit";

/** What an adapter is made of. */
export interface PrimitiveSettings {
  /** The model's id. */
  readonly model: string;
  /** How freely tokens are chosen, 0 to 2. Default: that of the service. */
  readonly temperature?: number;
  /** How refusals are retried. Default: that of the adapter. */
  readonly throttle?: Partial<ThrottlePolicy>;
}

const defaultMaxRepairs = 1;
const defaultMaxRecoveries = 3;

/** @throws {DefinitionError} naming the option and what it must be. */
export function checkedCounts({
  maxRepairs = defaultMaxRepairs,
  maxRecoveries = defaultMaxRecoveries,
}: {
  readonly maxRepairs?: number | undefined;
  readonly maxRecoveries?: number | undefined;
}): {
  readonly maxRepairs: number;
  readonly maxRecoveries: number;
} {
  for (const [name, value] of Object.entries({ maxRepairs, maxRecoveries })) {
    if (Number.isInteger(value) && value >= 0) continue;
    throw new DefinitionError(`The option ${name} must be a whole number from 0, not ${describeValue(value)}.`);
  }
  return { maxRepairs, maxRecoveries };
}

/** A checked copy of what is set. @throws {DefinitionError} naming the option and what it must be. */
export function checkedSettings({
  model,
  temperature,
  throttle,
}: {
  readonly model?: string | undefined;
  readonly temperature?: number | undefined;
  readonly throttle?: Partial<ThrottlePolicy> | undefined;
}): PrimitiveSettings {
  const id = model ?? environmentVariable("PROVISO_MODEL");
  if (typeof id !== "string" || id.trim() === "") {
    throw new DefinitionError(
      model === undefined
        ? "definePrimitive needs a model: give { model } or { adapter }, or set PROVISO_MODEL."
        : `The option model must be a model's id, for example "anthropic/claude-sonnet-4-5", not ${describeValue(model)}.`,
    );
  }
  checkModelSettings({ temperature });
  checkAdapterOptions({ throttle });
  return Object.freeze({
    model: id,
    ...(temperature === undefined ? {} : { temperature }),
    ...(throttle === undefined ? {} : { throttle: Object.freeze({ ...throttle }) }),
  });
}
