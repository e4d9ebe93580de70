import { createServer } from "node:http";
import { OpenAI } from "openai";
const s = createServer((q, r) => { q.resume(); q.on("end", () => { r.writeHead(200, {"content-type":"application/json"}); r.write('{"object":"resp'); }); });
await new Promise<void>((ok) => s.listen(0, "127.0.0.1", ok));
const c = new OpenAI({ apiKey: "k", baseURL: `http://127.0.0.1:${(s.address() as any).port}/v1`, maxRetries: 0 });
for (const timeout of [200, 600]) {
  const t = Date.now();
  await (c.responses.create({ model: "m", input: "x" } as any, { timeout, signal: AbortSignal.timeout(3000) }) as any).catch((e: any) => console.log(timeout, Date.now() - t, e.constructor.name, e.message));
  const t2 = Date.now();
  const r = await c.responses.create({ model: "m", input: "x" } as any, { timeout, signal: AbortSignal.timeout(3000) }).asResponse();
  console.log("headers", Date.now() - t2);
  await r.text().catch((e: any) => console.log("asResponse", timeout, Date.now() - t2, e.constructor.name, e.name, e.message, e.cause));
}
s.closeAllConnections(); s.close();
