// Texts with less contrast to what is behind them than WCAG's level AA asks for: element, ratio, text.
const parse = text => { const [r, g, b, a = 1] = text.match(/[\d.]+/g).map(Number); return [r, g, b, a] }
const over = (top, below) => [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3])).concat(1)
const linear = value => value <= .03928 ? value / 12.92 : ((value + .055) / 1.055) ** 2.4
const light = ([r, g, b]) => .2126 * linear(r / 255) + .7152 * linear(g / 255) + .0722 * linear(b / 255)
const behind = node => {
  const colour = parse(getComputedStyle(node).backgroundColor)
  if (colour[3] === 1) return colour
  return over(colour, node.parentElement ? behind(node.parentElement) : [255, 255, 255, 1])
}
const found = new Map()
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
while (walker.nextNode()) {
  const text = walker.currentNode.textContent.trim(), node = walker.currentNode.parentElement
  const style = getComputedStyle(node), box = node.getBoundingClientRect()
  if (!text || !box.width || !box.height || style.visibility === "hidden" || style.opacity === "0") continue
  if (node.closest("svg, [hidden], script, style, .headerlink, .md-clipboard")) continue
  const back = behind(node), front = over(parse(style.color), back)
  const [low, high] = [light(front), light(back)].sort((a, b) => a - b)
  const ratio = (high + .05) / (low + .05), size = parseFloat(style.fontSize)
  const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700)
  if (ratio < (large ? 3 : 4.5)) found.set(`${node.tagName}.${node.className}`, `${ratio.toFixed(2)} ${text.slice(0, 30)}`)
}
return [...found].map(pair => pair.join(" "))
