import { markup } from './markup.js';

/** How the page looks: on light and dark screens, narrow and wide, and on paper. */
export const STYLE = markup`
:root{color-scheme:light dark;--bg:#fff;--raised:#f5f6f8;--fg:#1a1d21;--soft:#565e6b;--line:#d5d9e0;--critical:#b3121d;--warning:#855300;--fine:#17754a;--info:#2a5d9f}
@media(prefers-color-scheme:dark){:root{--bg:#14171b;--raised:#1d2127;--fg:#e6e9ee;--soft:#a3acba;--line:#3a414c;--critical:#ff8a8a;--warning:#f0b95a;--fine:#6fd39b;--info:#8fbcff}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:90rem;padding:1rem clamp(1rem,3vw,2.5rem) 4rem;background:var(--bg);color:var(--fg);font:1rem/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
a{color:inherit}.skip{position:absolute;left:-99rem}.skip:focus{position:static}
:focus-visible{outline:3px solid var(--info);outline-offset:2px;border-radius:2px}
h1{font-size:1.6rem;line-height:1.2;margin:1rem 0 .25rem}
h2{font-size:1.35rem;line-height:1.2;margin:3rem 0 .25rem;padding-top:1rem;border-top:2px solid var(--fg)}
h3{font-size:1.05rem;margin:2rem 0 .5rem}
p{margin:.25rem 0}.seen,small,figcaption{color:var(--soft)}small,code{font-size:.85em}code{font-family:ui-monospace,monospace}
summary{cursor:pointer}ul{margin:.3rem 0;padding-left:1.2rem}

.chip{display:inline-block;padding:0 .5em;border:1px solid;border-radius:1em;font-size:.8em;white-space:nowrap}
.chip.critical{color:var(--bg);background:var(--critical);border-color:var(--critical)}.chip.warning{color:var(--warning)}.chip.info,.chip.none{color:var(--soft)}
.findings{list-style:none;padding:0}
.findings>li{background:var(--raised);border-left:.3rem solid var(--soft);border-radius:.2rem;padding:.4rem .8rem;margin:.5rem 0}
.findings>.critical{border-color:var(--critical)}.findings>.warning{border-color:var(--warning)}
.host{font-weight:600}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem;margin:.5rem 0}dt{color:var(--soft)}dd{margin:0}

figure{margin:.5rem 0 1rem}figcaption{font-size:.9em}.wide{overflow-x:auto}.wide :focus-visible{outline-offset:-3px}
table{border-collapse:collapse;width:100%;font-size:.9em}
th,td{text-align:left;vertical-align:top;padding:.35rem .7rem .35rem 0;border-bottom:1px solid var(--line);min-width:10rem}
time{white-space:nowrap}
thead th{overflow-wrap:break-word;min-width:0;color:var(--soft);font-weight:600;vertical-align:bottom;border-bottom:2px solid var(--line)}
th[scope=row]{min-width:11rem}td small{display:block}summary small{display:inline}.number{min-width:5rem}
.mark{min-width:7rem}.left{min-width:0;white-space:nowrap}.mark.no,.critical .left b{color:var(--critical)}.mark.unknown,.warning .left b{color:var(--warning)}.mark.yes{color:var(--fine)}
.life,th:has(.axis){width:34%;min-width:18rem;padding-right:1.4rem}.life svg{display:block;width:100%;height:.7rem;margin-top:.45rem;background:repeating-linear-gradient(90deg,var(--line) 0 1px,transparent 1px 25%)}
rect{fill:var(--fine)}.critical rect{fill:var(--critical)}.warning rect{fill:var(--warning)}
.axis{white-space:nowrap;display:flex;justify-content:space-between;font-weight:400;font-size:.85em}

.inventory details{margin:.2rem 0 .2rem 1rem}.inventory table{table-layout:fixed;min-width:64rem}.inventory th,.inventory td{min-width:0}
.inventory th:nth-child(3){width:27%}.inventory th:nth-child(6){width:12%}

@media(max-width:40rem){dl{display:block}dd{margin-bottom:.4rem}}
@media print{
@page{margin:12mm}
:root{color-scheme:light;--bg:#fff;--raised:#fff;--fg:#000;--soft:#333;--line:#999;--critical:#900;--warning:#640;--fine:#063;--info:#039}
body{max-width:none;padding:0;font-size:9pt}.skip{display:none}
details::details-content{display:block;content-visibility:visible;height:auto}summary{list-style:none}
.chip.critical{color:var(--critical);background:none}
h1,h2,h3,figcaption,thead,summary{break-after:avoid}tr,.findings>li>details>dl{break-inside:avoid}section+section{break-before:page}
.wide{overflow:visible}.inventory details{margin-left:0}.inventory table{min-width:0}th,td,th[scope=row]{min-width:0}.life,th:has(.axis){width:28%;min-width:9rem}.axis .half,.places>summary{display:none}.places ul{padding:0;margin:0;list-style:none}
}
`;
