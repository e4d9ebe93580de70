import type { HttpStep } from "./types.ts";

interface RefusalDetails {
  readonly param?: string;
  readonly code?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A request the service would not take; in its error shape. */
export class Refusal extends Error {
  readonly step: HttpStep;
  constructor(status: number, message: string, details: RefusalDetails = {}) {
    super(message);
    const type = status === 401 || status < 500 ? "invalid_request_error" : "server_error";
    const { param = null, code = null, headers } = details;
    this.step = { status, headers, body: { error: { message, type, param, code } } };
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

/** The answer to a mistake of a rule, a step or a listener of the test. */
export function ownMistake(error: unknown, code: string): HttpStep {
  const message = error instanceof Error ? error.message : String(error);
  return { status: 500, body: { error: { message, type: "server_error", param: null, code } } };
}
