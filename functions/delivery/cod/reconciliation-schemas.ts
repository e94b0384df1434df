/** Reconciliation of cash and drivers' pay: positions and differences. */
import { z } from "zod";
import { fileParameters } from "../../../shared/api/list.ts";
import { AsOf, Id, Timestamp } from "../../../shared/schemas/schemas.ts";

const Position = z.object({
  currency: z.string(),
  collected: z.number(),
  in_hand: z.number(),
  remitted: z.number(),
  settled_by_wallet: z.number(),
  ledger: z.number().describe("The driver's balance by the ledger"),
}).meta({ id: "CashPosition" });

export const ReconciliationQuery = z.object({ as_of: AsOf });
export const ReconciliationExportQuery = ReconciliationQuery.extend({
  part: z.enum(["drivers", "carriers", "desks", "driver_pay", "held", "statements"])
    .default("drivers").describe("The part of the reconciliation that the file has"),
  times: fileParameters().times,
});
export type ReconciliationPart = z.infer<typeof ReconciliationExportQuery>["part"];
export const ReconciliationResponse = z.object({
  as_of: Timestamp,
  reconciled: z.boolean(),
  totals: z.array(Position),
  drivers: z.array(Position.extend({ driver_id: Id, driver_name: z.string().nullable() })),
  carriers: z.array(z.object({
    carrier_code: z.string(),
    carrier_name: z.string(),
    currency: z.string(),
    collected: z.number(),
    remitted: z.number(),
    owed: z.number(),
    ledger: z.number().describe("The carrier's balance by the ledger"),
    written_off: z.number().describe("What the carrier will not pay"),
    charges: z.number().describe("What of `remitted` the carrier kept for its work"),
  })).describe("External carriers, beside the drivers whom `totals` adds up"),
  desks: z.array(z.object({
    owner_type: z.enum(["staff", "driver", "tenant"]),
    user_id: Id.nullable(),
    user_name: z.string().nullable(),
    currency: z.string(),
    remitted: z.number(),
    shortages: z.number().describe("Declared and remitted, and never there"),
    transferred_out: z.number().describe(
      "Brought to the bank or handed to others; what was reversed does not count",
    ),
    transferred_in: z.number(),
    paid_out: z.number().describe(
      "Paid to drivers and merchants in cash; what was reversed does not count",
    ),
    in_hand: z.number(),
    ledger: z.number().describe("The desk's balance by the ledger"),
  })).describe(
    "Remitted cash by destination: of cashiers, of drivers who remitted to themselves, of the tenant's own till",
  ),
  driver_pay: z.array(z.object({
    driver_id: Id,
    driver_name: z.string().nullable(),
    currency: z.string(),
    accrued: z.number().describe("Earned with deliveries, paid out or not"),
    paid: z.number().describe("Paid out; what was reversed does not count"),
    owed: z.number(),
    ledger: z.number().describe("What the driver is owed by the ledger"),
  })).describe("Pay of drivers: what is earned less what is paid out"),
  held: z.array(z.object({
    wallet_id: Id,
    user_id: Id,
    user_name: z.string().nullable(),
    currency: z.string(),
    in_hand: z.number().describe("COD of cash that drivers have not handed in"),
    with_carriers: z.number().describe("COD of cash that carriers have not paid"),
    at_desks: z.number().describe("COD of cash on desks that waits for the bank"),
    held: z.number().describe("What the holds of the wallet add up to"),
    waiting: z.number().describe("COD whose cash is in and whose day has not come"),
  })).describe("Wallets of which something is held, by the setting `delivery.payouts`"),
  statements: z.array(z.object({
    wallet_id: Id,
    user_id: Id,
    user_name: z.string().nullable(),
    currency: z.string(),
    lines: z.number().describe("What statements that are not void say"),
    held: z.number().describe("What is held, for its cash or its day"),
    unstated: z.number().describe("What is released and on no statement, and what is kept"),
    balance: z.number().describe("The wallet's balance by the ledger"),
    paid: z.number().describe("The net of statements that are paid"),
    open: z.number().describe("The net of statements that are neither paid nor void"),
  })).describe(
    "Wallets that statements are made of: lines + held + unstated = balance + paid",
  ),
  differences: z.array(z.object({
    kind: z.string(),
    driver_id: Id.nullable(),
    carrier_code: z.string().nullable(),
    user_id: Id.nullable().describe(
      "Whose desk or wallet it is, in differences of desks, of what is held and of statements; null for the tenant's own till",
    ),
    currency: z.string(),
    expected: z.number().nullable(),
    found: z.number().nullable(),
    rows: z.array(Id).nullable().describe("Ids of the rows concerned, at most 100"),
  })),
});

const { carriers, desks, driver_pay, held, statements } = ReconciliationResponse.shape;
const columnsOf = (rows: { element: { shape: object } }) => Object.keys(rows.element.shape);

/** The columns of the files, by part. */
export const reconciliationColumns: Readonly<Record<ReconciliationPart, string[]>> = {
  drivers: ["driver_id", "driver_name", ...Object.keys(Position.shape)],
  carriers: columnsOf(carriers),
  desks: columnsOf(desks),
  driver_pay: columnsOf(driver_pay),
  held: columnsOf(held),
  statements: columnsOf(statements),
};
