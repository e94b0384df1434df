/** The content of one label. */
export type LabelParty = {
  name: string;
  phone: string | null;
  address: string | null;
  city: string | null;
};

export type LabelManifest = {
  number: string;
  institution: string;
  branch_name: string;
  branch_code: string;
  item_barcode: string;
};

export type LabelMark = "draft" | "cancelled" | "delivered" | "returned";

export type ShipmentLabel = {
  template: "shipment_label" | "manifest_shipment_label";
  delivery_code: number;
  /** How often it was printed, this time included: of two labels on a parcel the higher one counts. */
  edition: number;
  /** The status of a parcel that nobody carries with this label, printed beside its city. */
  mark: LabelMark | null;
  /** Printable ASCII: as Code 128 up to 21 characters, or 42 when all are digits; as a QR code what is longer. */
  barcode: string;
  tenant_name: string;
  service_name: string | null;
  /** ISO date (yyyy-mm-dd) in the tenant's time zone. */
  created_on: string;
  sender: LabelParty;
  recipient: LabelParty;
  /** Formatted by its currency, without the currency's name; null when nothing is collected. */
  cod_amount: string | null;
  /** The delivery fee, formatted alike; null when there is none. */
  delivery_fee: string | null;
  /** ISO 4217 code. */
  currency: string;
  payer: "sender" | "receiver";
  unit_size: string | null;
  pieces: number;
  notes: string | null;
  /** Printed with the template `manifest_shipment_label`. */
  manifest: LabelManifest | null;
};
