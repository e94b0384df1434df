import { anyOf, permission, role } from "../../../shared/api/access.ts";
import { type AnyEndpoint, endpoint } from "../../../shared/api/endpoint.ts";
import { pdfFile } from "../../../shared/http/pdf-file.ts";
import type { ShipmentLabel } from "./label.ts";
import { moneyOf } from "../../../shared/pdf/values.ts";
import { LabelsBody } from "./schemas.ts";

type LabelRow = Omit<ShipmentLabel, "cod_amount" | "delivery_fee"> & {
  cod_amount: number | null;
  delivery_fee: number | null;
  decimals: number;
};

/** Shipment labels as a PDF: page n belongs to the n-th code asked for. */
export const shipmentLabels: AnyEndpoint[] = [
  endpoint({
    method: "post",
    path: "/shipment-labels",
    summary:
      "Print shipment labels, one page a delivery in the order given; customers those of returns that they were allowed",
    access: anyOf(permission("view:tenant"), role("institution", "customer")),
    body: LabelsBody,
    response: "pdf",
    errors: ["delivery_not_found"],
    async run({ db, body, language }) {
      const rows = await db.withoutKey().call<LabelRow[]>("delivery.shipment_labels", body);
      // Drawing is heavy and rare: the other calls of this function start without it.
      const { renderLabels } = await import("./label-page.ts");
      const labels = rows.map((row) => ({
        ...row,
        cod_amount: amount(row, row.cod_amount),
        delivery_fee: amount(row, row.delivery_fee),
      }));
      const pdf = await renderLabels(labels, { language: language(), brand: rows[0].tenant_name });
      return pdfFile("shipment-labels.pdf", pdf);
    },
  }),
];

function amount(label: LabelRow, value: number | null): string | null {
  return value === null ? null : moneyOf(label)(value);
}
