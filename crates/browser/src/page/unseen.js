// What people do not see.

const channels = (color) => {
  const parts = color.match(/[\d.]+/g)?.map(Number) ?? [];
  return { rgb: parts.slice(0, 3), alpha: parts.length > 3 ? parts[3] : 1 };
};

const isUnseen = (element, style, background) => {
  if (Number(style.opacity) < 0.05 || parseFloat(style.fontSize) < 2) return true;
  const color = channels(style.color);
  if (color.alpha < 0.05) return true;
  if (background && color.rgb.length === 3 && color.rgb.every((value, at) => Math.abs(value - background[at]) < 6)) return true;
  if (style.position !== "static" || style.textIndent.startsWith("-")) {
    const box = element.getBoundingClientRect();
    if (box.right + scrollX <= 0 || box.bottom + scrollY <= 0 || parseFloat(style.textIndent) < -500) return true;
    if (box.width <= 1 && box.height <= 1) return true;
    if (/^(inset\((50|100)%|circle\(0|polygon\(0)/.test(style.clipPath) || style.clip === "rect(0px, 0px, 0px, 0px)") return true;
  } else if (style.overflow === "hidden" && (element.clientHeight === 0 || element.clientWidth === 0)) {
    return true;
  }
  return false;
};
