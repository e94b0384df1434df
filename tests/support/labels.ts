/** Labels as people would fill them in, one per language, and one that no label has room for. */
import type { LabelLanguage } from "../../functions/delivery/shipment-labels/captions.ts";
import type { ShipmentLabel } from "../../functions/delivery/shipment-labels/label.ts";

const english: ShipmentLabel = {
  template: "shipment_label",
  delivery_code: 1048213,
  edition: 1,
  mark: null,
  barcode: "DLV-1048213",
  tenant_name: "Zagros Express",
  service_name: "Same day",
  created_on: "2026-11-21",
  sender: {
    name: "Naz Boutique",
    phone: "+964 750 111 2233",
    address: "Bakhtiyari, 40 m Street, shop 12",
    city: "Erbil",
  },
  recipient: {
    name: "Mustafa Al-Jubouri",
    phone: "+964 770 123 4567",
    address: "Karrada Inside, District 905, Street 21, House 14 (second floor)",
    city: "Baghdad",
  },
  cod_amount: "25,000",
  delivery_fee: "3,000",
  currency: "IQD",
  payer: "receiver",
  unit_size: "Medium",
  pieces: 2,
  notes: "Call before arrival. Fragile: glass.",
  manifest: null,
};

export const samples: Record<LabelLanguage, ShipmentLabel> = {
  en: english,
  ar: {
    ...english,
    tenant_name: "زاگروس إكسبريس",
    service_name: "توصيل اليوم نفسه",
    recipient: {
      name: "مصطفى عبد الرحمن الجُبُوريّ",
      phone: "+964 770 123 4567",
      address: "الكرادة داخل (محلة 905) زقاق 21 دار 14، قرب صيدلية الرحمة",
      city: "بغداد",
    },
    notes: "يرجى الاتصال قبل الوصول. قابل للكسر: زجاج.",
  },
  ku: {
    ...english,
    tenant_name: "زاگرۆس ئێکسپرێس",
    service_name: "گەیاندنی هەمان ڕۆژ",
    recipient: {
      name: "شێرزاد ڕەسووڵ گوڵچین",
      phone: "0770 123 4567",
      address: "گەڕەکی ڕاپەڕین، کۆڵانی ١٤، خانووی ٢٢ (نهۆمی دووەم)",
      city: "سلێمانی",
    },
    notes: "تکایە پێش گەیشتن پەیوەندی بکە.",
  },
};

/** The same parcel as part of a manifest. */
export function withManifest(label: ShipmentLabel): ShipmentLabel {
  return {
    ...label,
    template: "manifest_shipment_label",
    barcode: "12345678901234",
    cod_amount: null,
    payer: "sender",
    manifest: {
      number: "TM-000218",
      institution: "General Post Company",
      branch_name: "Erbil Central",
      branch_code: "EBL-01",
      item_barcode: "40012345678905",
    },
  };
}

/** Every text far longer than its place: with spaces, and without any place to break. */
export function overfull(label: ShipmentLabel, separator: string): ShipmentLabel {
  const long = (text: string | null) =>
    Array(15).fill(text?.replaceAll(" ", separator)).join(separator);
  const party = ({ name, phone, address, city }: ShipmentLabel["sender"]) => ({
    name: long(name),
    phone: long(phone),
    address: long(address),
    city: long(city),
  });
  const { number, institution, branch_name, branch_code, item_barcode } = withManifest(label)
    .manifest!;
  return {
    ...label,
    barcode: "ABCDEFGH-1234567890-XY",
    delivery_code: Number.MAX_SAFE_INTEGER,
    tenant_name: long(label.tenant_name),
    service_name: long(label.service_name),
    sender: party(label.sender),
    recipient: party(label.recipient),
    cod_amount: "123,456,789,012,345,678",
    delivery_fee: "123,456,789,012,345,678",
    unit_size: long(label.unit_size),
    pieces: 1234567,
    notes: long(label.notes),
    manifest: {
      number: long(number),
      institution: long(institution),
      branch_name: long(branch_name),
      branch_code: long(branch_code),
      item_barcode: long(item_barcode),
    },
  };
}
