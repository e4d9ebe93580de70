import type { ServiceError } from "./service-error.ts";

type RefusalDetails = Pick<ServiceError, "param" | "code" | "headers">;

/** A request the service would not take. */
export class Refusal extends Error {
  readonly error: ServiceError;
  constructor(status: number, message: string, details: RefusalDetails = {}) {
    super(message);
    this.error = { status, message, ...details };
  }
}

export function badRequest(message: string, param?: string, code?: string): Refusal {
  return new Refusal(400, message, {
    ...(param === undefined ? {} : { param }),
    ...(code === undefined ? {} : { code }),
  });
}

export function unknownParameter(param: string): Refusal {
  return badRequest(`Unknown parameter: '${param}'.`, param, "unknown_parameter");
}

export function missingParameter(param: string): Refusal {
  return badRequest(`Missing required parameter: '${param}'.`, param, "missing_required_parameter");
}

export function invalidType(param: string, wanted: string, found: unknown): Refusal {
  const kind = found === null ? "null" : Array.isArray(found) ? "an array" : `a ${typeof found}`;
  return badRequest(`Invalid type for '${param}': expected ${wanted}, but got ${kind} instead.`, param, "invalid_type");
}

/** What the service has and the simulator has not: passing over it would look as if it worked. */
export function notSupported(what: string): Refusal {
  return badRequest(`The simulator does not support '${what}'.`, what, "simulator_not_supported");
}

/** The answer to a mistake of a rule, a step or a listener of the test. */
export function ownMistake(error: unknown, code: string): ServiceError {
  const message = error instanceof Error ? error.message : String(error);
  return { status: 500, message, type: "server_error", code };
}
