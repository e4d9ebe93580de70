import type { Simulator } from "@proviso/simulator";

export interface Answer {
  readonly status: number;
  // What a test looks at differs from test to test.
  readonly body: { readonly [key: string]: unknown };
  readonly headers: Headers;
}

export async function post(
  simulator: Simulator,
  path: string,
  body: unknown,
  key: string | null = "key",
): Promise<Answer> {
  const response = await fetch(`${simulator.baseURL}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...(key === null ? {} : { authorization: `Bearer ${key}` }) },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as Answer["body"], headers: response.headers };
}

export const responses = (simulator: Simulator, body: object): Promise<Answer> =>
  post(simulator, "/responses", { model: "m", ...body });
export const chat = (simulator: Simulator, body: object): Promise<Answer> =>
  post(simulator, "/chat/completions", { model: "m", ...body });

export function errorOf(answer: Answer): {
  readonly message: string;
  readonly code: string | null;
  readonly param: string | null;
} {
  return answer.body["error"] as never;
}
