/** The calls of a storm, each prepared so that it has one effect: of cash, of a parcel on its way, and of a merchant's money. */
import { randomUUID } from "node:crypto";
import type { Body } from "../support/api.ts";
import { heldBy } from "../support/cash-desks.ts";
import { newCash } from "../support/cod.ts";
import { delivered, handIn, leaves } from "../support/cod-holds.ts";
import { sql } from "../support/db.ts";
import { deliveryIn, newDelivery, path as deliveries } from "../support/deliveries.ts";
import { fundWallet } from "../support/money.ts";
import { newPerson } from "../support/people.ts";
import { type Asked, Caller } from "./caller.ts";
import type { Place, World } from "./world.ts";

/** A call that is sent many times under one key. */
export interface StormCall {
  asked: Asked & { body: Record<string, unknown> };
  status: 200 | 201;
  /** The same call with other input, and the code that its key is refused with. */
  other: { body: Record<string, unknown>; code: string };
  /** How often it took effect. */
  effects(): Promise<number>;
}

type Prepare = (place: Place, n: number) => Promise<StormCall>;

const statements = "/delivery/merchant-statements";
const cod = 7_000;
const other = "idempotency_conflict";

/** The calls by name; those about cash of drivers take turns with who asks. */
export function stormCalls(world: World): Record<string, Prepare> {
  const caller = new Caller(world.ports, false);
  const surely = async (asked: Asked): Promise<Body> => {
    const { status, body, text } = await caller.surely(asked);
    if (status >= 300) throw new Error(text);
    return body;
  };

  const settle = (way: "remit" | "settle-by-wallet"): Prepare => async (place, n) => {
    const { id, tenant, drivers, dispatcher } = place;
    const driver = drivers[n % drivers.length]!;
    const rows = [
      await newCash(tenant, { driver: driver.id }),
      await newCash(tenant, { driver: driver.id, cod: 0 }),
    ];
    const ids = rows.map((row) => row.id);
    const settled = () =>
      count(sql`select payment_id from money.cod_settlements where tenant_id = ${id}`);
    const before = await settled();
    return {
      asked: {
        token: n % 3 ? dispatcher.token : driver.token,
        path: `/delivery/cod-collections/${way}`,
        body: { scope: "selected", cod_collection_ids: ids },
      },
      status: 200,
      other: {
        body: { scope: "selected", cod_collection_ids: ids.slice(1) },
        code: "settlement_idempotency_conflict",
      },
      effects: async () => await settled() - before,
    };
  };

  /** An owner whose COD came in, and was brought to the bank. */
  const merchant = async ({ ground, tenant }: Place): Promise<string> => {
    const { id } = await newPerson(tenant.id, "customer", "customer");
    await handIn(ground, await delivered(ground, [cod], { customer_id: id }));
    await leaves(tenant.dispatcher, await heldBy(tenant, tenant.dispatcher));
    return id;
  };
  const opening = ({ ops }: Place, owner: string) => ({
    token: ops.token,
    path: statements,
    body: { owner_user_id: owner },
  });
  const opened = async (place: Place): Promise<string> => {
    const { data } = await surely(opening(place, await merchant(place)));
    return data.statement.id;
  };

  return {
    remit: settle("remit"),
    "settle by wallet": settle("settle-by-wallet"),
    async undo(place) {
      const { id } = await deliveryIn(place.ground, "delivered", { cod_amount: cod });
      return {
        asked: {
          token: place.ops.token,
          path: `${deliveries}/${id}/outcome/undo`,
          body: { reason: "Wrong parcel" },
        },
        status: 200,
        other: { body: { reason: "Another" }, code: other },
        effects: () =>
          count(sql`select t.id from money.ledger_transactions t
            join money.cod_collections c on c.tenant_id = t.tenant_id and c.id = t.reference_id
            where c.delivery_id = ${id} and c.reversed_at is not null and t.kind = 'cod_credit_REVERSAL'`),
      };
    },
    async "change of an amount"(place) {
      const { id } = await deliveryIn(place.ground, "in_transit", { cod_amount: cod });
      return {
        asked: {
          token: place.ops.token,
          path: `${deliveries}/${id}/amount-changes`,
          body: { cod_amount: cod - 250, reason: "Dented" },
        },
        status: 201,
        other: { body: { cod_amount: cod + 250, reason: "Dented" }, code: other },
        effects: () => count(sql`select id from delivery.amount_changes where delivery_id = ${id}`),
      };
    },
    async redirect(place) {
      const { ground, roads, tenant } = place;
      const { id: owner } = await newPerson(tenant.id, "customer", "customer");
      await fundWallet(tenant, "customer", owner, 100_000);
      const { id } = await newDelivery(ground, {
        customer_id: owner,
        delivery_service_id: roads.service,
        payer_type: "sender",
        payment_method: "wallet",
      });
      return {
        asked: {
          token: place.ops.token,
          path: `${deliveries}/${id}/redirect`,
          body: { dropoff_address_id: roads.far },
        },
        status: 200,
        other: { body: { dropoff_address_id: ground.from }, code: other },
        effects: () =>
          count(sql`select id from money.payments
            where delivery_id = ${id} and type = 'DELIVERY_FEE_CHANGE'`),
      };
    },
    async statement(place) {
      const owner = await merchant(place);
      return {
        asked: opening(place, owner),
        status: 201,
        other: { body: { owner_user_id: place.merchants[0]!.id }, code: other },
        effects: () =>
          count(sql`select id from money.merchant_statements where owner_user_id = ${owner}`),
      };
    },
    async payment(place, n) {
      const id = await opened(place);
      const [who, method] = n % 2 ? [place.dispatcher, "cash"] : [place.ops, "bank"];
      // A desk to pay from: all of it went to the bank.
      await handIn(place.ground, await delivered(place.ground, [cod]));
      const body = { method, reference: randomUUID() };
      return {
        asked: { token: who.token, path: `${statements}/${id}/pay`, body },
        status: 200,
        other: { body: { ...body, reference: randomUUID() }, code: other },
        effects: () =>
          count(sql`select t.id from money.merchant_payouts p
            join money.ledger_transactions t on t.tenant_id = p.tenant_id and t.reference_id = p.id
            where p.statement_id = ${id} and t.kind = 'merchant_payout'`),
      };
    },
    async "reversal of a payment"(place) {
      const id = await opened(place);
      const { token } = place.admin;
      await surely({ token, path: `${statements}/${id}/pay`, body: { method: "bank" } });
      return {
        asked: { token, path: `${statements}/${id}/reverse`, body: { reason: "Typed twice" } },
        status: 200,
        other: { body: { reason: "Another" }, code: other },
        effects: () =>
          count(sql`select t.id from money.merchant_payouts p
            join money.ledger_transactions t on t.tenant_id = p.tenant_id and t.reference_id = p.id
            where p.statement_id = ${id} and t.kind = 'merchant_payout_REVERSAL'`),
      };
    },
    async void(place) {
      const id = await opened(place);
      return {
        asked: {
          token: place.admin.token,
          path: `${statements}/${id}/void`,
          body: { reason: "Too early" },
        },
        status: 200,
        other: { body: { reason: "Another" }, code: other },
        effects: () =>
          count(sql`select id from money.merchant_statements where id = ${id} and status = 'void'`),
      };
    },
  };
}

const count = async (rows: PromiseLike<readonly unknown[]>): Promise<number> => (await rows).length;
