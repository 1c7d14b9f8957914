// What htsjdk, Picard's library, makes of BAM and BGZF files: a line of reader, file and digest for
// each.

import htsjdk.samtools.SAMRecord;
import htsjdk.samtools.SamReader;
import htsjdk.samtools.SamReaderFactory;
import htsjdk.samtools.ValidationStringency;
import htsjdk.samtools.util.BlockCompressedInputStream;
import java.io.File;
import java.io.InputStream;
import java.security.MessageDigest;
import java.util.HexFormat;

public class Readers {
    public static void main(String[] paths) throws Exception {
        for (String path : paths) {
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            if (path.endsWith(".bam")) {
                records(path, digest);
            } else {
                blocks(path, digest);
            }
            System.out.println("htsjdk " + path + " " + HexFormat.of().formatHex(digest.digest()));
        }
    }

    private static void records(String path, MessageDigest digest) throws Exception {
        SamReaderFactory factory = SamReaderFactory.makeDefault();
        factory.validationStringency(ValidationStringency.SILENT);
        try (SamReader reader = factory.open(new File(path))) {
            for (SAMRecord record : reader) {
                digest.update(record.getSAMString().getBytes("UTF-8"));
            }
        }
    }

    private static void blocks(String path, MessageDigest digest) throws Exception {
        byte[] part = new byte[1 << 16];
        try (InputStream in = new BlockCompressedInputStream(new File(path))) {
            for (int count; (count = in.read(part)) > 0; ) {
                digest.update(part, 0, count);
            }
        }
    }
}
