import type { LabelMark } from "./label.ts";

/** The fixed words of a shipment label. Short forms: a label has room for one or two words. */
export type LabelLanguage = "en" | "ar" | "ku";

export type Captions = Record<LabelMark, string> & {
  title: string;
  destination: string;
  to: string;
  from: string;
  delivery_code: string;
  edition: string;
  date: string;
  pieces: string;
  size: string;
  cod: string;
  cod_none: string;
  fee_paid_by: string;
  sender: string;
  receiver: string;
  notes: string;
  manifest: string;
  institution: string;
  branch: string;
  item_barcode: string;
  /** Between the parts of an address. */
  comma: string;
};

export const captions: Record<LabelLanguage, Captions> = {
  en: {
    title: "Shipment labels",
    destination: "Destination",
    to: "TO",
    from: "FROM",
    delivery_code: "Delivery no.",
    edition: "edition",
    date: "Date",
    pieces: "Pieces",
    size: "Size",
    cod: "Cash on delivery",
    cod_none: "No cash on delivery",
    fee_paid_by: "Delivery fee paid by",
    sender: "Sender",
    receiver: "Receiver",
    notes: "Notes",
    manifest: "Manifest",
    institution: "Institution",
    branch: "Source branch",
    item_barcode: "Item barcode",
    comma: ", ",
    draft: "DRAFT",
    cancelled: "CANCELLED",
    delivered: "DELIVERED",
    returned: "RETURNED",
  },
  ar: {
    title: "ملصقات الشحن",
    destination: "الوجهة",
    to: "إلى",
    from: "من",
    delivery_code: "رقم التوصيل",
    edition: "الإصدار",
    date: "التاريخ",
    pieces: "القطع",
    size: "الحجم",
    cod: "الدفع عند الاستلام",
    cod_none: "بدون تحصيل نقدي",
    fee_paid_by: "أجرة التوصيل على",
    sender: "المرسل",
    receiver: "المستلم",
    notes: "ملاحظات",
    manifest: "بيان النقل",
    institution: "المؤسسة",
    branch: "فرع المصدر",
    item_barcode: "باركود المادة",
    comma: "، ",
    draft: "مسودة",
    cancelled: "ملغى",
    delivered: "تم التسليم",
    returned: "مرتجعة",
  },
  ku: {
    title: "لەیبڵەکانی گەیاندن",
    destination: "شوێنی گەیاندن",
    to: "بۆ",
    from: "لە",
    delivery_code: "ژمارەی گەیاندن",
    edition: "چاپی",
    date: "بەروار",
    pieces: "پارچە",
    size: "قەبارە",
    cod: "پارەدان لە کاتی وەرگرتن",
    cod_none: "پارەی لێ وەرناگیرێت",
    fee_paid_by: "کرێی گەیاندن لەسەر",
    sender: "نێردەر",
    receiver: "وەرگر",
    notes: "تێبینی",
    manifest: "مانیفێست",
    institution: "دامەزراوە",
    branch: "لقی سەرچاوە",
    item_barcode: "بارکۆدی کاڵا",
    comma: "، ",
    draft: "ڕەشنووس",
    cancelled: "هەڵوەشاوەتەوە",
    delivered: "گەیەندراو",
    returned: "گەڕێندراوەتەوە",
  },
};
