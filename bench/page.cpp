#include "bench/page.hpp"

#include <cctype>
#include <cmath>

#include "almond/view/blob.hpp"
#include "bench/plot.hpp"

namespace almond::bench {
namespace {

constexpr const char* kStyle = R"css(
:root{--ink:#111827;--soft:#4b5563;--line:#e5e7eb;--good:#15803d;--bad:#b91c1c;--near:#a16207;--tint:#f8f9fb}
*{box-sizing:border-box}
body{margin:0;background:#fff;color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
main{max-width:1320px;margin:0 auto;padding:36px 28px 60px}
h1{font-size:30px;letter-spacing:-.02em;margin:0 0 6px}
h2{font-size:20px;margin:44px 0 6px;letter-spacing:-.01em}
h3{font-size:16px;margin:28px 0 4px}
section{border-top:1px solid var(--line);margin-top:44px} section>h2{font-size:24px;margin-top:30px}
nav{display:flex;flex-wrap:wrap;gap:6px 10px;margin:14px 0} nav a{font-size:13px;color:#3730a3;text-decoration:none;border:1px solid var(--line);border-radius:99px;padding:3px 12px}
nav.play{font-size:13px;color:var(--soft);align-items:center} nav a:hover{background:var(--tint)} nav span{color:var(--soft)}
figure img{display:block;width:100%;height:auto;border-radius:4px} figcaption{font-size:12.5px;color:var(--soft);padding:6px 2px 0}
.claims+.grid,.grid+.score{margin-top:16px} .score{margin-top:14px}
p.lead{font-size:16px;color:var(--soft);max-width:78ch;margin:0 0 20px}
p.caption{color:var(--soft);max-width:100ch;margin:0 0 12px}
.score{display:inline-block;font-weight:600;border-radius:99px;padding:3px 14px;background:#eef2ff;color:#3730a3;margin-bottom:14px}
.claims{display:grid;grid-template-columns:repeat(auto-fill,minmax(300px,1fr));gap:12px}
.claim{border:1px solid var(--line);border-left:5px solid var(--bad);border-radius:8px;padding:10px 14px;background:#fff}
.claim.holds{border-left-color:var(--good)} .claim.near{border-left-color:var(--near)}
.claim b{display:block;font-size:14px;line-height:1.35;margin-bottom:5px}
.claim span{display:block;font-size:13px;color:var(--soft)}
.claim .rule{font-size:12px;color:#6b7280;font-style:italic}
.claim em{font-style:normal;font-weight:700;color:var(--bad);font-size:12px;letter-spacing:.05em;text-transform:uppercase}
.claim.holds em{color:var(--good)} .claim.near em{color:var(--near)}
.scroll{display:inline-block;max-width:100%;overflow-x:auto;border:1px solid var(--line);border-radius:8px}
table{border-collapse:collapse;width:auto;min-width:420px;font-size:13px;font-variant-numeric:tabular-nums}
th{position:sticky;top:0;background:var(--tint);text-align:left;font-weight:600;padding:7px 10px;border-bottom:1px solid var(--line);cursor:pointer;white-space:nowrap;user-select:none}
th:hover{background:#eef0f4} th.up::after{content:" ▲";font-size:9px} th.down::after{content:" ▼";font-size:9px}
td{padding:4px 10px;border-bottom:1px solid #f1f2f5;white-space:nowrap}
tr:last-child td{border-bottom:0} tr:hover td{background:#fafbff}
tr.next td{border-top:1px solid #c9ced8}
th.key,td.key{position:sticky;left:0;background:#fff;z-index:1} th.key{background:var(--tint);z-index:2} td.key.last,th.key.last{box-shadow:1px 0 0 var(--line)}
.scroll.more{box-shadow:inset -14px 0 12px -12px rgba(17,24,39,.28)} .hint{display:none;font-size:12px;color:var(--soft);margin:2px 0 0} .scroll.wide+.hint{display:block}
td.n,th.n{text-align:right} td.good{color:var(--good);font-weight:600} td.bad{color:var(--bad);font-weight:600} td.quiet{color:#9ca3af}
.legend{display:flex;flex-wrap:wrap;gap:4px 18px;font-size:13px;color:var(--soft);margin:0 0 10px}
.legend svg{vertical-align:middle;margin-right:6px}
.grid{display:grid;grid-template-columns:repeat(auto-fill,minmax(400px,1fr));gap:14px}
.two{grid-template-columns:repeat(auto-fill,minmax(min(100%,560px),1fr));margin:14px 0}
figure{margin:0;border:1px solid var(--line);border-radius:8px;padding:8px;background:#fff}
figure svg{display:block;width:100%;height:auto}
figure.wide{max-width:860px}
path.curve{transition:opacity .1s} svg.reading path.curve{opacity:.45} svg.reading path.curve.near{opacity:1;stroke-width:2.8}
#tip{position:fixed;pointer-events:none;display:none;background:rgba(17,24,39,.94);color:#fff;border-radius:6px;padding:7px 10px;font-size:12px;line-height:1.45;font-variant-numeric:tabular-nums;z-index:9}
#tip i{display:inline-block;width:9px;height:9px;border-radius:50%;margin-right:6px}
dl{display:grid;grid-template-columns:max-content 1fr;gap:2px 16px;font-size:13px;color:var(--soft)} dt{font-weight:600} dd{margin:0}
ul.notes{color:var(--soft);font-size:13px}
@media print{main{padding:0}figure,.claim{break-inside:avoid}}
)css";

constexpr const char* kScript = R"js(
for (const th of document.querySelectorAll('th')) th.onclick = () => {
  const body = th.closest('table').tBodies[0], k = th.cellIndex, up = !th.classList.contains('up');
  for (const other of th.parentNode.children) other.classList.remove('up', 'down');
  th.classList.add(up ? 'up' : 'down');
  const key = row => { const v = row.cells[k].dataset.v; return v === undefined ? row.cells[k].textContent : +v; };
  const compare = (a, b) => typeof a === typeof b ? (a < b ? -1 : a > b ? 1 : 0) : typeof a === 'number' ? -1 : 1;
  [...body.rows].sort((r, s) => (up ? 1 : -1) * compare(key(r), key(s))).forEach(r => body.append(r));
};
// Key columns stay where they are, one beside the other; a table wider than the page says so.
const layOut = () => {
  for (const scroll of document.querySelectorAll('.scroll')) {
    const heads = [...scroll.querySelectorAll('th.key')];
    let left = 0;
    for (const head of heads) {
      for (const row of scroll.querySelector('table').rows) row.cells[head.cellIndex].style.left = left + 'px';
      left += head.offsetWidth;
    }
    const shade = () => scroll.classList.toggle('more', scroll.scrollLeft + scroll.clientWidth < scroll.scrollWidth - 1);
    scroll.classList.toggle('wide', scroll.scrollWidth > scroll.clientWidth + 1);
    scroll.onscroll = shade;
    shade();
  }
};
layOut();
addEventListener('resize', layOut);
const tip = document.getElementById('tip');
for (const svg of document.querySelectorAll('figure svg')) {
  const frame = svg.querySelector('.frame');
  if (!frame) continue;
  const [x0, x1, low, high, log] = frame.dataset.x.split(',').map(Number), [y0, y1] = frame.dataset.y.split(',').map(Number);
  const curves = [...svg.querySelectorAll('.curve')].reverse().map(path => ({path, name: path.dataset.name, colour: path.getAttribute('stroke'),
    points: path.dataset.points.split(' ').map(p => p.split(',').map(Number))}));
  const at = (curve, x) => { let y; for (const p of curve.points) { if (p[0] > x * (1 + 1e-9)) break; y = p[1]; } return y; };
  const show = v => v !== 0 && (Math.abs(v) < 0.01 || Math.abs(v) >= 1e4) ? v.toExponential(1) : String(+v.toPrecision(3));
  svg.onmousemove = event => {
    const box = svg.getBoundingClientRect(), view = svg.viewBox.baseVal;
    const px = (event.clientX - box.left) * view.width / box.width, py = (event.clientY - box.top) * view.height / box.height;
    if (px < x0 || px > x1 || py > y0 || py < y1) return svg.onmouseleave();
    const t = low + (px - x0) / (x1 - x0) * (high - low), x = log ? 10 ** t : t;
    const rows = curves.map(c => [c, at(c, x)]).filter(r => r[1] !== undefined).sort((a, b) => a[1] - b[1]);
    tip.innerHTML = '<b>' + show(x) + '</b><br>' + rows.map(([c, y]) => `<i style="background:${c.colour}"></i>${c.name} ${show(y)}`).join('<br>');
    tip.style.display = 'block';
    tip.style.left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8) + 'px';
    tip.style.top = Math.min(event.clientY + 14, innerHeight - tip.offsetHeight - 8) + 'px';
    svg.classList.add('reading');
    const near = document.elementFromPoint(event.clientX, event.clientY);
    for (const c of curves) c.path.classList.toggle('near', c.path === near);
  };
  svg.onmouseleave = () => { tip.style.display = 'none'; svg.classList.remove('reading'); };
}
)js";

const char* tone_class(Tone tone) {
  switch (tone) {
    case Tone::kGood:
      return " good";
    case Tone::kBad:
      return " bad";
    case Tone::kQuiet:
      return " quiet";
    case Tone::kPlain:
      break;
  }
  return "";
}

/// Numbers like 3.8e-12 stay on one line.
std::string unbroken(const std::string& text) {
  std::string out = escape_xml(text);
  for (std::size_t at = out.find("e-"); at != std::string::npos; at = out.find("e-", at + 2))
    if (at > 0 && std::isdigit(static_cast<unsigned char>(out[at - 1])) != 0) out.replace(at, 2, "e\u2011");
  return out;
}

std::string claims_html(const Report& report) {
  if (report.num_claims() == 0) return "";
  std::string out = "<span class=\"score\">" + report.score() + "</span>\n";
  if (report.claims.empty()) return out;
  out += "<div class=\"claims\">\n";
  for (const Claim& c : report.claims) {
    out += std::string("<div class=\"claim") +
           (c.near    ? " near"
            : c.holds ? " holds"
                      : "") +
           "\"><b>" + escape_xml(c.claim) + "</b><span>expected " + unbroken(c.expected) + "</span><span>measured " +
           unbroken(c.measured) + "</span>" +
           (c.criterion.empty() ? "" : "<span class=\"rule\">holds if " + unbroken(c.criterion) + "</span>") +
           (c.cause.empty() ? "" : "<span class=\"rule\">why not: " + unbroken(c.cause) + "</span>") + "<em>" +
           (c.near ? "undecided: the target lies within the spread" : c.verdict()) + "</em></div>\n";
  }
  return out + "</div>\n";
}

std::string key_class(const Table& table, std::size_t column) {
  const auto keys = static_cast<std::size_t>(table.keys);
  return column >= keys ? "" : column + 1 == keys ? " key last" : " key";
}

std::string table_html(const Table& table, const char* heading) {
  std::vector<bool> numeric(table.columns.size(), false);
  for (const auto& row : table.rows) {
    for (std::size_t k = 0; k < row.size(); ++k) numeric[k] = numeric[k] || std::isfinite(row[k].value);
  }
  std::string out = std::string("<") + heading + " id=\"" + escape_xml(table.name) + "\">" + escape_xml(table.title) +
                    "</" + heading + ">\n";
  if (!table.caption.empty()) out += "<p class=\"caption\">" + escape_xml(table.caption) + "</p>\n";
  out += "<div class=\"scroll\"><table><thead><tr>";
  for (std::size_t k = 0; k < table.columns.size(); ++k) {
    out += std::string("<th class=\"") + (numeric[k] ? "n" : "") + key_class(table, k) + "\">" +
           escape_xml(table.columns[k]) + "</th>";
  }
  out += "</tr></thead><tbody>\n";
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    const std::vector<Cell>& row = table.rows[r];
    // Rows of one scene belong together.
    const bool next = table.keys > 1 && r > 0 && row[0].text != table.rows[r - 1][0].text;
    out += next ? "<tr class=\"next\">" : "<tr>";
    for (std::size_t k = 0; k < row.size(); ++k) {
      const Cell& cell = row[k];
      char value[48] = "";
      if (std::isfinite(cell.value)) std::snprintf(value, sizeof value, " data-v=\"%.6g\"", cell.value);
      out += std::string("<td class=\"") + (numeric[k] ? "n" : "") + key_class(table, k) + tone_class(cell.tone) +
             "\"" + value + ">" + escape_xml(cell.text) + "</td>";
    }
    out += "</tr>\n";
  }
  return out + "</tbody></table></div><p class=\"hint\">More columns to the right: scroll sideways.</p>\n";
}

std::string legend_html(const std::vector<std::string>& names) {
  if (names.empty()) return "";
  std::string out = "<div class=\"legend\">";
  for (const std::string& name : names) {
    out +=
        "<span><svg width=\"24\" height=\"8\"><line x1=\"0\" x2=\"24\" y1=\"4\" y2=\"4\" stroke-width=\"2.4\" "
        "stroke=\"" +
        solver_colour(name) + "\"" + (is_peer_name(name) ? " stroke-dasharray=\"5 3\"" : "") + "/></svg>" +
        escape_xml(name) + "</span>";
  }
  return out + "</div>\n";
}

std::string figures_html(const Report& report) {
  const std::vector<Figure>& figures = report.figures;
  std::string out;
  for (std::size_t k = 0; k < figures.size(); ++k) {
    const Figure& figure = figures[k];
    const bool in_grid = !figure.group.empty();
    const bool opens = in_grid && (k == 0 || figures[k - 1].group != figure.group);
    const bool closes = in_grid && (k + 1 == figures.size() || figures[k + 1].group != figure.group);
    if (opens)
      out += "<h2>" + escape_xml(figure.group) + "</h2>\n" + legend_html(report.legend) + "<div class=\"grid\">\n";
    if (!in_grid) out += "<h2>" + escape_xml(figure.title) + "</h2>\n";
    out += std::string("<figure id=\"") + escape_xml(figure.name) + "\"" + (in_grid ? "" : " class=\"wide\"") + ">" +
           figure.svg + "</figure>\n";
    if (closes) out += "</div>\n";
  }
  return out;
}

std::string notes_html(const std::vector<std::string>& notes, const char* heading) {
  if (notes.empty()) return "";
  std::string out = std::string("<") + heading + ">Notes</" + heading + ">\n<ul class=\"notes\">\n";
  for (const std::string& note : notes) out += "<li>" + escape_xml(note) + "</li>\n";
  return out + "</ul>\n";
}

std::string pictures_html(const std::vector<Picture>& pictures) {
  if (pictures.empty()) return "";
  std::string out = "<div class=\"grid two\">\n";
  for (const Picture& picture : pictures)
    out += "<figure><img alt=\"" + escape_xml(picture.caption) + "\" src=\"data:image/png;base64," +
           to_base64(picture.png) + "\"><figcaption>" + escape_xml(picture.caption) + "</figcaption></figure>\n";
  return out + "</div>\n";
}

std::string links_html(const std::vector<std::pair<std::string, std::string>>& links) {
  if (links.empty()) return "";
  std::string out = "<nav class=\"play\">Side by side:";
  for (const auto& [name, address] : links)
    out += " <a href=\"" + escape_xml(address) + "\">\u25b6 " + escape_xml(name) + "</a>";
  return out + "</nav>\n";
}

/// One experiment: what it is, the claims about it, the curves, the figures behind them.
std::string part_html(const Report& part) {
  std::string out = "<section id=\"" + escape_xml(part.name) + "\">\n<h2>" + escape_xml(part.title) +
                    "</h2>\n<p class=\"lead\">" + escape_xml(part.lead) + "</p>\n";
  out += pictures_html(part.pictures) + links_html(part.links) + claims_html(part);
  if (!part.figures.empty()) {
    out += "<div class=\"grid two\">\n";
    for (const Figure& figure : part.figures)
      out += "<figure id=\"" + escape_xml(figure.name) + "\">" + figure.svg + "</figure>\n";
    out += "</div>\n";
  }
  for (const Table& table : part.tables) out += table_html(table, "h3");
  return out + notes_html(part.notes, "h3") + "</section>\n";
}

}  // namespace

std::string to_html(const Report& report) {
  std::string out =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
      escape_xml(report.title) + "</title>\n<style>" + kStyle + "</style></head><body><main>\n<h1>" +
      escape_xml(report.title) + "</h1>\n<p class=\"lead\">" + escape_xml(report.lead) + "</p>\n";
  out += claims_html(report);
  if (!report.parts.empty()) {
    out += "<nav>";
    for (const Report& part : report.parts)
      out += "<a href=\"#" + escape_xml(part.name) + "\">" + escape_xml(part.title) +
             (part.num_claims() == 0
                  ? ""
                  : " <span>" + std::to_string(part.num_held()) + "/" + std::to_string(part.num_claims()) + "</span>") +
             "</a>";
    out += "</nav>\n";
  }
  // The first table is the summary; it stands before the figures, the long ones after them.
  if (!report.tables.empty()) out += table_html(report.tables.front(), "h2");
  out += figures_html(report);
  for (std::size_t k = 1; k < report.tables.size(); ++k) out += table_html(report.tables[k], "h2");
  for (const Report& part : report.parts) out += part_html(part);
  out += notes_html(report.notes, "h2");
  out += "<h2>Machine and settings</h2>\n<dl>\n";
  for (const auto& [key, value] : report.facts)
    out += "<dt>" + escape_xml(key) + "</dt><dd>" + escape_xml(value) + "</dd>\n";
  return out + "</dl>\n</main><div id=\"tip\"></div>\n<script>" + kScript + "</script></body></html>\n";
}

}  // namespace almond::bench
