import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";

/**
 * Returns the user of a request, by a cookie that no script can read and no other site can use. A browser without one
 * gets a new user: an application with accounts puts its own sign-in here.
 */
export function userOf(request: IncomingMessage, response: ServerResponse): string {
  const [, known] = /(?:^|;\s*)user=([0-9a-f-]{36})(?:;|$)/.exec(request.headers.cookie ?? "") ?? [];
  if (known !== undefined) return known;
  const user = randomUUID();
  response.setHeader("set-cookie", `user=${user}; HttpOnly; SameSite=Strict; Path=/; Max-Age=31536000`);
  return user;
}
