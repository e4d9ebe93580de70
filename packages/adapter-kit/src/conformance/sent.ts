import type { ConformanceRequest } from "./script.ts";

/** @throws {Error} where no such request was sent, or `requests()` does not tell it in the suite's shape. */
export function expectSent(request: ConformanceRequest | undefined): ConformanceRequest {
  if (request === undefined) throw new Error("The service got no such request.");
  if (Array.isArray(request.messages)) return request;
  throw new Error("requests() must tell each request as a ConformanceRequest: { messages, body, … }.");
}
