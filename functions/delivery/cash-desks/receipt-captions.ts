/** The words of a transfer's receipt, in the three languages. */
import type { Language } from "../../../shared/i18n/index.ts";
import type { PrintedTransfer } from "./receipt-page.ts";

export interface ReceiptCaptions {
  titles: Record<PrintedTransfer["kind"], string>;
  amount: string;
  number: string;
  date: string;
  from: string;
  to: string;
  reference: string;
  enteredBy: string;
  notes: string;
  till: string;
  bank: string;
  outside: string;
  company: string;
  gave: string;
  got: string;
  reversed: (moment: string) => string;
}

export const receiptCaptions: Record<Language, ReceiptCaptions> = {
  en: {
    titles: {
      bank_deposit: "Cash brought to the bank",
      handover: "Cash handed over",
      refund: "Delivery fee paid back",
      expense: "Expense paid in cash",
      wallet_payout: "Cash paid out of a wallet",
      bank_withdrawal: "Cash fetched from the bank",
      wallet_deposit: "Cash paid into a wallet",
    },
    amount: "Amount",
    number: "Number",
    date: "Date",
    from: "From",
    to: "To",
    reference: "Reference",
    enteredBy: "Entered by",
    notes: "Notes",
    till: "Till of the company",
    bank: "Bank",
    outside: "–",
    company: "The company",
    gave: "Signature: paid",
    got: "Signature: received",
    reversed: (moment) => `REVERSED on ${moment}: this receipt no longer counts`,
  },
  ar: {
    titles: {
      bank_deposit: "إيداع نقد في المصرف",
      handover: "تسليم نقد",
      refund: "رد أجرة توصيل نقدًا",
      expense: "مصروف دُفع نقدًا",
      wallet_payout: "صرف نقدي من محفظة",
      bank_withdrawal: "سحب نقد من المصرف",
      wallet_deposit: "إيداع نقدي في محفظة",
    },
    amount: "المبلغ",
    number: "الرقم",
    date: "التاريخ",
    from: "من",
    to: "إلى",
    reference: "المرجع",
    enteredBy: "أدخله",
    notes: "ملاحظات",
    till: "صندوق الشركة",
    bank: "المصرف",
    outside: "–",
    company: "الشركة",
    gave: "توقيع الدافع",
    got: "توقيع المستلم",
    reversed: (moment) => `أُلغي هذا الإيصال في ${moment} ولم يعد ساريًا`,
  },
  ku: {
    titles: {
      bank_deposit: "دانانی پارە لە بانک",
      handover: "ڕادەستکردنی پارە",
      refund: "گەڕاندنەوەی کرێی گەیاندن",
      expense: "خەرجییەک بە کاش درا",
      wallet_payout: "دانی کاش لە جزدانێک",
      bank_withdrawal: "ڕاکێشانی پارە لە بانک",
      wallet_deposit: "خستنە ناو جزدان بە کاش",
    },
    amount: "بڕ",
    number: "ژمارە",
    date: "بەروار",
    from: "لە",
    to: "بۆ",
    reference: "سەرچاوە",
    enteredBy: "تۆمارکەر",
    notes: "تێبینی",
    till: "سندوقی کۆمپانیا",
    bank: "بانک",
    outside: "–",
    company: "کۆمپانیا",
    gave: "واژووی پێدەر",
    got: "واژووی وەرگر",
    reversed: (moment) => `ئەم وەسڵە لە ${moment} هەڵوەشێنرایەوە و چیتر کاری پێ ناکرێت`,
  },
};
