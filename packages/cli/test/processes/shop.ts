// A prompt whose tool comes to something else where SHOP_RATE is set.
import { definePrompt, defineTool } from "@proviso/core";
import { z } from "zod";

const price = defineTool({
  name: "price",
  description: "Adds the tax.",
  input: z.object({ net: z.number() }),
  execute: ({ net }) => net * Number(process.env["SHOP_RATE"] ?? 2),
});

export const shop = definePrompt({ key: "shop", sections: [{ key: "task", text: "Price it.", tools: [price] }] });
