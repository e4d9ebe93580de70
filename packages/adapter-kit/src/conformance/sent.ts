import type { ConformanceRequest } from "./script.ts";

/**
 * Returns the request, checked.
 * @throws {Error} where no such request was sent, or where `requests()` does not return it in the suite's shape.
 */
export function expectSent(request: ConformanceRequest | undefined): ConformanceRequest {
  if (request === undefined) throw new Error("The service got no such request.");
  if (Array.isArray(request.messages)) return request;
  throw new Error("requests() must return each request as a ConformanceRequest: { messages, body, … }.");
}
