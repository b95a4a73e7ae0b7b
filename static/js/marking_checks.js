// The checks of judging/collection/rules.py, for a page that is offline too; one table of cases tries both.
const markingChecks = (() => {
  const TOKEN = /[\p{L}\p{N}_]+(?:['’][\p{L}\p{N}_]+)*|[^\p{L}\p{N}_\s]/gu;
  const WORD = /^[\p{L}\p{N}_]/u;

  const tokensOf = (text) => text.match(TOKEN) ?? [];
  const wordsOf = (text) => tokensOf(text).filter((token) => WORD.test(token)).map((token) => token.toLowerCase());

  function spanProblems({ start, end }, { duration }) {
    const problems = [];
    if (start === null) problems.push({ code: "no_start", field: "start_s" });
    else if (start < 0) problems.push({ code: "negative", field: "start_s" });
    if (end === null) problems.push({ code: "no_end", field: "end_s" });
    else if (start !== null && end <= start) problems.push({ code: "empty", field: "end_s" });
    else if (end > duration) problems.push({ code: "beyond", field: "end_s", values: { duration: duration.toFixed(2) } });
    return problems;
  }

  function textProblems(text, { lines, checks, longest }) {
    const tokens = tokensOf(text);
    const words = wordsOf(text);
    const one = (code, values) => ({ code, field: "text", values });
    if (!tokens.length) return [one("no_text")];
    const length = [...text.trim().replace(/\s+/g, " ")].length;
    if (length > longest) return [one("too_long", { n: length, most: longest })];
    if (!words.length) return [one("no_words")];
    const problems = [];
    if (tokens.length < checks.least_tokens) problems.push(one("too_short", { n: tokens.length, least: checks.least_tokens }));
    const line = lineCopied(words, lines.map(([, , spoken]) => spoken), checks);
    if (line) problems.push(one("copied", { line }));
    return problems;
  }

  function lineCopied(words, lines, checks) {
    const pairs = lines.slice(1).map((line, index) => `${lines[index]} ${line}`);
    return [...lines, ...pairs].find((text) => {
      const lineWords = wordsOf(text);
      const quoted = lineWords.length >= checks.least_tokens && ` ${words.join(" ")} `.includes(` ${lineWords.join(" ")} `);
      return quoted || shared(words, lineWords) / words.length >= checks.most_overlap;
    });
  }

  // How many of the words the line has, each as often as it is there.
  function shared(words, lineWords) {
    const left = new Map();
    for (const word of lineWords) left.set(word, (left.get(word) ?? 0) + 1);
    let count = 0;
    for (const word of words) {
      if (!left.get(word)) continue;
      left.set(word, left.get(word) - 1);
      count += 1;
    }
    return count;
  }

  function typeProblems(type, { lines, checks }) {
    if (!type) return [{ code: "no_type", field: "type" }];
    if (!checks.types.includes(type)) return [{ code: "other_type", field: "type" }];
    return type !== "v" && !lines.length ? [{ code: "no_subtitles", field: "type" }] : [];
  }

  // The very words, type and span of a query that a checker sent back.
  function anewProblems({ text, type, start, end }, { rejections = [] }) {
    const words = text.trim().replace(/\s+/g, " ");
    const isUnchanged = rejections.some((rejection) => [words, type, start, end].every((value, index) => value === rejection[index]));
    return isUnchanged ? [{ code: "unchanged", field: "text" }] : [];
  }

  return {
    problems: (entry, data) => [
      ...spanProblems(entry, data), ...textProblems(entry.text, data), ...typeProblems(entry.type, data), ...anewProblems(entry, data),
    ],
    warnings(text, { dangling }) {
      const [word] = wordsOf(text);
      return dangling.includes(word) ? [{ code: "pronoun", field: "text", values: { word } }] : [];
    },
    message: ({ code, values = {} }, { messages }) => messages[code].replace(/\{(\w+)\}/g, (_, name) => values[name]),
  };
})();
