// Texts of the kinds that prompts are made of, written for this measurement.

const english = `The committee met on Tuesday afternoon to discuss the proposed changes to the public library's opening hours. Several
residents had written letters, most of them asking for longer evenings during the winter. "I work until seven," one of
them explained, "and by the time I get there the doors are already closed." The librarian answered that staffing was the
real difficulty: two positions had been vacant since March, and the budget for temporary help was nearly exhausted.

After a long discussion the members agreed on a trial period of three months. From October on, the building will stay
open until nine on Mondays and Thursdays, with volunteers at the information desk. Visitors will be able to borrow and
return books by themselves, using the machines near the entrance. If fewer than forty people a night make use of the
offer, the hours will be reduced again in January. Nobody expected an easy solution, but everyone left the room with the
feeling that something had finally been decided. You can find the minutes, including a summary of the costs, on our web
site; please send comments to the address below before the end of the month.`;

const german = `Die Stadtverwaltung hat am Dienstagabend beschlossen, die Öffnungszeiten der Bücherei probeweise zu verlängern. Mehrere
Anwohnerinnen und Anwohner hatten in Leserbriefen darum gebeten, weil sie nach der Arbeit regelmäßig vor verschlossenen
Türen stehen. „Ich komme selten vor sieben Uhr aus dem Büro“, schrieb eine Leserin, „und dann ist längst geschlossen.“ Die
Leiterin erklärte, dass vor allem Fachkräfte fehlen: Seit März sind zwei Stellen unbesetzt, und die Mittel für
Aushilfskräfte sind beinahe aufgebraucht.

Nach einer ausführlichen Aussprache einigte sich der Ausschuss auf eine dreimonatige Übergangsregelung. Ab Oktober bleibt
das Gebäude montags und donnerstags bis einundzwanzig Uhr geöffnet, unterstützt von ehrenamtlichen Helferinnen am
Auskunftsschalter. Ausleihe und Rückgabe erledigen die Besucher selbständig an den Automaten im Eingangsbereich. Falls
weniger als vierzig Personen pro Abend das Angebot nutzen, werden die Zeiten im Januar wieder gekürzt. Das vollständige
Sitzungsprotokoll einschließlich einer Kostenübersicht steht auf unserer Internetseite; Rückmeldungen nehmen wir bis zum
Monatsende unter der untenstehenden Anschrift entgegen.`;

const chinese = `市政府周二晚上决定，试行延长图书馆的开放时间。此前有不少居民来信，希望冬季晚上能多开放几个小时。一位读者写道：“我七点
以后才下班，等我赶到的时候，大门早就关上了。”馆长解释说，真正的困难在于人手不足：从三月份开始就有两个岗位空缺，用于聘请临时
工作人员的经费也快要用完了。

经过长时间的讨论，委员会同意先试行三个月。从十月起，图书馆每周一和周四将开放到晚上九点，并由志愿者在服务台提供帮助。读者可以
使用入口处的自助设备借书和还书。如果每晚使用这项服务的人数少于四十人，明年一月将恢复原来的时间。没有人认为这个问题很容易解决，
但是大家离开会议室的时候都觉得，事情总算有了结果。完整的会议记录和费用说明可以在我们的网站上查看，欢迎在月底之前通过下面的地址
提出意见。`;

const json = JSON.stringify({
  orderId: "ord_20260314_88213",
  status: "partially_shipped",
  customer: { id: 48213, name: "Ada Lovelace", email: "ada@example.com", vip: true, tags: ["wholesale", "eu-west"] },
  items: [
    { sku: "KB-104-US", title: "Mechanical keyboard", quantity: 2, unitPrice: 89.9, shippedAt: "2026-03-15T08:21:44Z" },
    { sku: "MS-220-BK", title: "Wireless mouse", quantity: 10, unitPrice: 24.5, shippedAt: null },
    { sku: "CB-USB-C2", title: "USB-C cable, 2 m", quantity: 25, unitPrice: 7.25, shippedAt: "2026-03-15T08:21:44Z" },
  ],
  shipping: { street: "12 St James's Square", city: "London", postcode: "SW1Y 4JH", country: "GB", express: false },
  totals: { net: 606.05, vat: 121.21, gross: 727.26, currency: "EUR" },
  history: [
    { at: "2026-03-14T17:02:10Z", event: "created", by: "web" },
    { at: "2026-03-14T17:02:55Z", event: "paid", by: "stripe", reference: "pi_3OzQ2eKZ8YbN1" },
    { at: "2026-03-15T08:21:44Z", event: "shipped", by: "warehouse-2", reference: "1Z999AA10123456784" },
  ],
});

const indentedJson = JSON.stringify(JSON.parse(json), null, 2);

const source = `import { createHash } from "node:crypto";
import type { Store, StoredItem } from "./store.ts";

/** Keeps the newest items of each key; older ones are dropped when there are too many. */
export class RecentItems<Value> {
  readonly #items = new Map<string, StoredItem<Value>[]>();
  readonly #maxItemsPerKey: number;

  constructor(store: Store<Value>, { maxItemsPerKey = 512 }: { maxItemsPerKey?: number } = {}) {
    if (!Number.isInteger(maxItemsPerKey) || maxItemsPerKey <= 0) {
      throw new RangeError(\`maxItemsPerKey must be a positive whole number, not \${maxItemsPerKey}.\`);
    }
    this.#maxItemsPerKey = maxItemsPerKey;
    for (const item of store.loadAll()) this.add(item.key, item.value, item.createdAt);
  }

  add(key: string, value: Value, createdAt = Date.now()): void {
    const items = this.#items.get(key) ?? [];
    const index = items.findLastIndex((other) => other.createdAt <= createdAt);
    items.splice(index + 1, 0, { key, value, createdAt, digest: digestOf(value) });
    if (items.length > this.#maxItemsPerKey) items.shift();
    this.#items.set(key, items);
  }

  latest(key: string, count = 10): readonly Value[] {
    return (this.#items.get(key) ?? []).slice(-count).map(({ value }) => value);
  }
}

function digestOf(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex").slice(0, 16);
}
`;

/** By kind. Source code is one class of TypeScript; JSON is an order, written both ways. */
export const samples: Readonly<Record<string, string>> = {
  English: english,
  German: german,
  Chinese: chinese,
  "JSON, compact": json,
  "JSON, indented": indentedJson,
  "source code": source,
};
