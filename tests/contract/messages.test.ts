/** Every word the backend can say stands in three languages, and every refusal has its words. */
import { describe, expect, test } from "vitest";
import { errorCodes, isErrorCode } from "../../shared/errors/errors.ts";
import { filesIn, textOf } from "../tools/checks/files.ts";
import { ar, en, ku } from "../../shared/i18n/catalogues.ts";
import { operations } from "./functions.ts";

const languages = ["en", "ar", "ku"] as const;
const files = filesIn("shared/i18n").filter((file) => file.endsWith(".json"));
const catalogues: Record<typeof languages[number], Record<string, string>> = { en, ar, ku };
const keys = Object.keys(catalogues.en);
const holes = (text: string) => [...new Set(text.match(/\{\w+\}/g) ?? [])].sort();

/** The word of a thing, and others that translators reach for. */
const otherWords: Record<"ar" | "ku", [word: string, other: RegExp][]> = {
  ar: [
    ["شحنة, a delivery; توصيل is what is done with it", /توصيلة|توصيلات|هذا التوصيل|التوصيلة/],
    ["إسناد, an assignment", /تكليف/],
    ["زبون, a customer", /عميل|عملاء/],
    ["تعديل, an adjustment; تسوية is a settlement", /تسوية المحفظة/],
    ["شركة نقل, a carrier", /ناقل/],
  ],
  ku: [
    ["پارسەڵ, a parcel; پاکەت is a package", /پارچە/],
    ["هەڵاوێردە, an exception", /کێشەیەکی کراوە|تێبینییەکان|لەگەڵ تێبینی/],
    ["ئابوونە, a subscription", /بەشداری/],
    ["گوێزەرەوە, a carrier", /کۆمپانیای(ەکی تری)? گواستنەوە/],
    ["سپاردن, an assignment; ئەرک is a person's post", /ئەم ئەرکە/],
  ],
};

/** Refusals the database makes on our own faults only: clients meet `conflict` or `internal_server_error`. */
const internalConstraints = new Set([
  // The open invitation of an address is renewed.
  "invitation_pending_once",
  // A place by both its numbers, and a window with an end after its beginning: cores ask first.
  "amount_change_state",
  "deliver_window_in_order",
  "next_attempt_while_open",
  "notice_of_postponed",
  "parts_are_delivered",
  "position_whole",
  "reported_place_whole",
  "returns_are_made_at_doors",
  // Sorting, package transfers and waybills: written by cores that ask first.
  "already_in_waybill",
  "already_sorted",
  "cage_of_one_assignment",
  "cancelled_before_the_road",
  "discrepancy_exists",
  "ended_when",
  "one_transfer_per_waybill",
  "operation_of_a_delivery",
  "received_before_closed",
  "sealed_before_the_road",
  "waybill_number_exists",
  "waybill_of_a_waybill",
  // Orders and payments: written by cores that look first, and by SECURITY DEFINER functions.
  "cancelled_says_when_and_why",
  "cart_already_ordered",
  "gateway_configured",
  "gateway_order_id_taken",
  "gateway_payments_are_numbered",
  "gateway_reference_taken",
  "gateway_transaction_taken",
  "only_unmatched_is_resolved",
  "order_already_paid",
  "order_item_once_in_a_part",
  "order_leaves_a_warehouse_once",
  "order_part_comes_back_once",
  "order_part_picked_once",
  "order_part_position_taken",
  "order_part_short_of_itself",
  "order_part_travels_once",
  "order_picked_once_in_a_warehouse",
  "damaged_of_received",
  "order_delivery_taken",
  "order_item_total_adds_up",
  "order_number_taken",
  "order_payment_pending",
  "order_total_adds_up",
  "resolved_says_when",
  "variant_already_in_order",
  "webhook_event_taken",
  // Deliveries under way: written by cores that ask first.
  "cash_already_taken",
  "reversed_cash_was_in_hand",
  "outcome_undone_when_and_why",
  "count_adds_up",
  "place_counted_twice",
  "cash_leaves_its_desk",
  "cash_transfer_booked",
  "cash_transfer_key_used",
  "return_request_state",
  "return_requested_once",
  "driver_pay_already_accrued",
  "driver_pay_already_paid",
  "driver_pay_has_a_rule",
  "driver_pay_state",
  "driver_payout_booked",
  "driver_payout_key_used",
  "handover_has_receiver",
  "looked_beyond_the_opening",
  "merchant_payout_booked",
  "merchant_payout_key_used",
  "movement_already_stated",
  "statement_already_made",
  "statement_has_payout",
  "statement_is_its_lines",
  "statement_is_its_parts",
  "statement_number_taken",
  "statement_state",
  "hold_already_made",
  "hold_counts_later",
  "hold_or_release",
  "part_of_a_row",
  "part_of_a_row_is_there",
  "reversed_says_who_and_why",
  "reversed_says_why",
  "till_has_no_user",
  "cash_is_its_parts",
  "cash_state_and_times",
  "delivery_already_picked",
  "movement_has_an_end",
  "receipt_already_expected",
  "received_when",
  "receiving_reference_exists",
  "reserved_for_somebody",
  "resolved_when",
  "serial_is_one",
  "stock_place",
  // Rows written by our own functions, which never write them otherwise.
  "account_exists",
  "booked_means_tracked",
  "carrier_cash_already_collected",
  "carrier_cash_is_its_parts",
  "carrier_cash_state",
  "carrier_event_once",
  "carriers_hold_cash_only",
  "remittance_is_its_parts",
  "remittance_item_is_its_parts",
  "claimed_means_when",
  "collection_already_settled",
  "counted_when",
  "handover_used",
  "item_is_its_parts",
  "printed_somewhere",
  "settlement_is_its_parts",
  "coordinates_incomplete",
  "custody_follows",
  "delivery_barcode_taken",
  "delivery_code_reserved_twice",
  "delivery_code_taken",
  "delivery_fee_already_paid",
  "entry_version_taken",
  "exception_already_open",
  "item_delivery",
  "item_one_destination",
  "item_only_on_parents",
  "item_received_once",
  "leg_of_a_parent",
  "leg_sequence_taken",
  "one_destination",
  "order_created_means_received",
  "proof_kept_twice",
  "received_means_when_and_by_whom",
  "realtime_assignment",
  "realtime_bulk",
  "realtime_single_or_bulk",
  "realtime_response_required_when_pending",
  "receiving_event_once",
  "resolved_says_how",
  "item_or_barcode",
  "shortage_of_a_handover",
  "refund_has_receipt",
  "shipment_once",
  "snapshot_with_manifest",
  "subscription_pending_once",
  "tenant_carrier_once",
  "tenant_owns_itself",
  "void_has_no_order",
  "wallets_have_a_floor",
  "webhook_event_once",
  "wizard_run_once",
  // The storefront's.
  "actions_are_resolved",
  "active_domains_are_verified",
  "active_follows_from_status",
  "archived_says_when",
  "cart_already_active",
  "customer_address_default",
  "live_follows_from_statuses",
  "only_approved_is_reviewed_again",
  "published_means_approved",
  "variant_already_in_cart",
]);

const sqlFiles = filesIn("sql").filter((file) => file.endsWith(".sql"));
const sql = sqlFiles.map((file) => textOf(file).replace(/--[^\n]*/g, "")).join("\n");
const functions = sqlFiles.filter((file) => !/\/(tables|data)\.sql$|^sql\/demo/.test(file)).map(
  textOf,
).join("\n");
const all = (pattern: RegExp) => [...new Set([...sql.matchAll(pattern)].map((match) => match[1]))];

describe("the catalogues", () => {
  test.each(["ar", "ku"] as const)("%s has the keys of English", (language) => {
    expect(Object.keys(catalogues[language]).toSorted()).toEqual(keys.toSorted());
  });

  test.each(files)("%s is sorted, without a key twice", (file) => {
    const written = [...textOf(file).matchAll(/^ {2}"(\w+)":/gm)].map((match) => match[1]);
    expect(written).toEqual([...new Set(written)].sort());
  });

  test("have each key in one place", () => {
    const written = files.filter((file) => file.endsWith(".en.json")).flatMap((file) =>
      Object.keys(JSON.parse(textOf(file)))
    );
    expect(written.toSorted()).toEqual(keys.toSorted());
  });

  test.each(["ar", "ku"] as const)("%s has the holes of English in every text", (language) => {
    const wrong = keys.filter((key) =>
      `${holes(catalogues[language][key] ?? "")}` !== `${holes(catalogues.en[key])}`
    );
    expect(wrong).toEqual([]);
  });

  test.each(["ar", "ku"] as const)(
    "%s is translated: Arabic script, not English again",
    (language) => {
      const wrong = keys.filter((key) => {
        const text = catalogues[language][key] ?? "";
        return text === catalogues.en[key] || !/[\u0600-\u06ff]/.test(text);
      });
      expect(wrong).toEqual([]);
    },
  );

  test("a thing has one word", () => {
    const wrong = (["ar", "ku"] as const).flatMap((language) =>
      otherWords[language].flatMap(([word, other]) =>
        keys.filter((key) => other.test(catalogues[language][key])).map((key) => `${key}: ${word}`)
      )
    );
    expect(wrong).toEqual([]);
  });

  test.each(languages)(
    "%s ends its sentences; names of states, movements and reasons are none",
    (language) => {
      const sentences = keys.filter((key) =>
        !/^(activity|status|reason|exception_reason)_/.test(key)
      );
      expect(sentences.length).toBeGreaterThan(350);
      expect(sentences.filter((key) => !/[.؟]$/.test(catalogues[language][key]))).toEqual([]);
    },
  );

  test("Kurdish is not Arabic again", () => {
    const same = keys.filter((key) => catalogues.ku[key] === catalogues.ar[key]);
    // Words that are the same in both languages.
    expect(same.filter((key) => catalogues.ku[key].split(" ").length > 2)).toEqual([]);
  });

  test("every error code has a text", () => {
    expect(errorCodes.filter((code) => !Object.hasOwn(catalogues.en, code))).toEqual([]);
  });
});

describe("refusals of the database", () => {
  test("every code of app.fail, app.refuse and app.found is in shared/errors/errors.ts", () => {
    const codes = [
      ...all(/\bapp\.(?:fail|refuse)\(\s*'(\w+)'/g),
      ...all(/\bapp\.found\([\s\S]*?, '(\w+_not_found)'\)/g),
    ];
    expect(codes.length).toBeGreaterThan(5);
    expect(codes.filter((code) => !isErrorCode(code))).toEqual([]);
  });

  test("every code a function answers with, to keep what it did, is in shared/errors/errors.ts", () => {
    expect(all(/jsonb_build_object\(\s*'error',\s*'(\w+)'/g).filter((code) => !isErrorCode(code)))
      .toEqual([]);
  });

  /** Refused as field_too_large or validation_failed (refusalOf). */
  const guardsASize = /_above_\d+_bytes$|^texts_within_bounds$/;

  test("every named constraint is a code, guards a size or is on the short list of internal ones", () => {
    const named = constraints();
    expect(named.length).toBeGreaterThan(10);
    const silent = named.filter(({ name, table }) =>
      !isErrorCode(name) && !guardsASize.test(name) && !internalConstraints.has(name) &&
      isFilledByFunctions(table)
    );
    expect(silent).toEqual([]);
  });

  test("the list of internal constraints names none that is gone", () => {
    expect([...internalConstraints].filter((name) => !new RegExp(`\\b${name}\\b`).test(sql)))
      .toEqual([]);
  });
});

describe("refusals of the functions", () => {
  test("every declared code exists", () => {
    const unknown = operations.flatMap(({ name, endpoint }) =>
      [...endpoint.errors ?? [], endpoint.idempotencyConflictCode, endpoint.access.errorCode]
        .filter((code) => code !== undefined && !isErrorCode(code))
        .map((code) => `${name}: ${code}`)
    );
    expect(unknown).toEqual([]);
  });

  test("every message key an endpoint names exists", () => {
    const unknown = operations.filter(({ endpoint }) =>
      typeof endpoint.message === "string" && !Object.hasOwn(catalogues.en, endpoint.message)
    );
    expect(unknown.map(({ name }) => name)).toEqual([]);
  });

  test("the code of a closed feature gate exists", () => {
    const gates = new Set(operations.flatMap(({ endpoint }) => endpoint.feature ?? []));
    expect([...gates].filter((feature) => !isErrorCode(`${feature}_disabled`))).toEqual([]);
  });
});

/** Unique, check and exclusion constraints with a name of ours. A foreign key without a code is `invalid_reference`. */
function constraints(): { name: string; table: string }[] {
  const inTables = sql.split(/(?=create table |alter table )/).flatMap((part) => {
    const table = /^(?:create|alter) table (?:if not exists |if exists |only )*([\w.]+)/.exec(part)
      ?.[1];
    return [...part.matchAll(/\bconstraint (\w+)\s+(?:unique|check|exclude)/g)].map((match) => ({
      name: match[1],
      table: table ?? "",
    }));
  });
  const indexes = [...sql.matchAll(/create unique index if not exists (\w+)\s+on ([\w.]+)/g)];
  return [...inTables, ...indexes.map(([, name, table]) => ({ name, table }))];
}

/** Rows of the other tables come from reference data, or their feature is not written yet. */
function isFilledByFunctions(table: string): boolean {
  return new RegExp(`insert into ${table.replace(".", "\\.")}\\b`).test(functions);
}
